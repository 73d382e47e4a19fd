"""Killing episodes at chosen moments, and looking at what is left of them: `python -m tests.engine.crashing`."""
