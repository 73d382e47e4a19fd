"""Synthesis: requirements on capabilities become executable, validated, repaired environments."""
