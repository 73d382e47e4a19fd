"""Where a model is served, and how patiently it is asked.

Knows the environment's variables. Does not know HTTP, and holds no key.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from urllib.parse import urlsplit

import msgspec

DEFAULT_URL = "https://api.openai.com/v1"
URL_VARIABLES = ("COWORKENV_BASE_URL", "OPENAI_BASE_URL")


class Server(msgspec.Struct, frozen=True, kw_only=True):
    """A chat server. Nothing of it may change what the model answers, so none of it is in a log."""

    url: str = DEFAULT_URL
    timeout: float = 300.0
    """Seconds that one attempt may take."""
    attempts: int = 6
    """How often a request is made before the episode is suspended."""
    first_wait: float = 0.5
    """Seconds before the second attempt; doubles each time, up to 30, and is shortened by chance to spread load."""

    def __post_init__(self) -> None:
        if not (self.timeout > 0 and self.attempts > 0 and self.first_wait >= 0):
            raise ValueError("`timeout` and `attempts` must be above 0, and `first_wait` not below it")


def server_url(given: str | None, environment: Mapping[str, str] | None = None) -> str:
    """The base URL: as given, else from the environment's variables, else OpenAI's. Raises ValueError (`plain_url`)."""
    variables = os.environ if environment is None else environment
    found = given or next((variables[name] for name in URL_VARIABLES if variables.get(name)), DEFAULT_URL)
    return plain_url(found).rstrip("/")


def plain_url(url: str) -> str:
    """`url` itself. Raises ValueError, which does not repeat it, if it holds more than an address and a path.

    That could be a key, and base URLs stand in logs and in errors.
    """
    try:
        parts = urlsplit(url)
    except ValueError:
        return url  # The client says what is wrong with it.
    if "@" in parts.netloc or parts.query or parts.fragment:
        raise ValueError("a base URL may not hold a name, a password or a query; put the key into OPENAI_API_KEY")
    return url
