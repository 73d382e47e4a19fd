"""x."""

import click

commands: list[click.Command] = []
