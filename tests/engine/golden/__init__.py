"""Recorded episodes that every release must execute again to the same bytes, as long as `semantics` stays the same."""
