"""The command line. `main` is what the script `coworkenv` runs."""

from .root import main

__all__ = ["main"]
