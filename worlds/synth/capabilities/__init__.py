"""The capabilities of the taxonomy, each a fragment that a workflow can hold."""
