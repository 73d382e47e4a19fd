"""Checks: what is looked for in a stream, whether it is there, and what that is worth."""
