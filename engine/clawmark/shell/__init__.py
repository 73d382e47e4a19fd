"""A small shell over a workspace's files: a closed set of commands, none of which is the host's.

`language` reads a command line, `running` does it, `commands`, `filters`, `tables` and `git` are what it may call.
"""
