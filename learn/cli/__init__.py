"""Commands of `coworkenv learn` that train and evaluate. Knows command lines; torch is imported by what needs it."""

from __future__ import annotations

import click

from . import evaluate

commands: list[click.Command] = [*evaluate.commands]
