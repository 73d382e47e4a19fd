"""Settings of all tests: a property fails for what it finds, never for how busy the machine is."""

from hypothesis import settings

settings.register_profile("coworkenv", deadline=None)
settings.load_profile("coworkenv")
