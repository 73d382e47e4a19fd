"""Declared services: systems of record that are data, and the ready ones of the library."""
