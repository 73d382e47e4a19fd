"""Commands of `coworkenv learn` that train and evaluate. Knows command lines; torch is imported by what needs it."""

from __future__ import annotations

import click

from . import compare, credit_bench, demo, evaluate, exporting, models, offline, pocket, reproduce, training

commands: list[click.Command] = [
    *demo.commands,
    *pocket.commands,
    *training.commands,
    *offline.commands,
    *evaluate.commands,
    *compare.commands,
    *models.commands,
    *exporting.commands,
    *reproduce.commands,
    credit_bench.credit_bench,
]
