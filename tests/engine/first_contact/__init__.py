"""Has the checks of a set of environments meet mistakes that they were not made with.

`python -m tests.engine.first_contact DIR` is the whole figure; `tests/engine/test_first_contact.py` is a part of it.
"""
