"""Reading traces."""

from .reader import load_trace

__all__ = ["load_trace"]
