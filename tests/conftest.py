"""Settings of all tests: a property fails for what it finds, never for how busy the machine is.

In continuous integration the examples are the same each time, so that a change is judged by what it changes; at a desk
they are new ones.
"""

import os

from hypothesis import settings

settings.register_profile("coworkenv", deadline=None, derandomize="CI" in os.environ, print_blob=True)
settings.load_profile("coworkenv")
