"""Pictures among what tools return, as chat servers take them: in a message of its own behind the results.

Knows the form of both. Does not know what a picture shows, nor whether a model can see. A result is a picture where it
has `{"picture": {"mime", "base64"}}`; its text never has the bytes.
"""

from __future__ import annotations

from ..events.event import Json

MIMES = ("image/png", "image/jpeg", "image/gif", "image/webp")
"""What servers take."""

TOKENS = 1_000
"""That a picture counts as, since servers count each in a way of their own."""

_SHOWN = "The picture is shown below."
_HIDDEN = "You cannot be shown pictures."


def picture_of(result: Json) -> str | None:
    """The data URI of the picture that a result is; None where it is none."""
    picture = result.get("picture") if isinstance(result, dict) else None
    if not isinstance(picture, dict) or picture.keys() != {"mime", "base64"} or picture["mime"] not in MIMES:
        return None
    return f"data:{picture['mime']};base64,{picture['base64']}" if isinstance(picture["base64"], str) else None


def in_words(result: Json, shown: bool) -> Json:
    """A result as text can have it."""
    return {**result, "picture": _SHOWN if shown else _HIDDEN} if picture_of(result) is not None else result


def part(uri: str) -> dict[str, Json]:
    """A picture as a part of a message."""
    return {"type": "image_url", "image_url": {"url": uri}}


def is_part(value: Json) -> bool:
    """Whether a part of a message is a picture."""
    return isinstance(value, dict) and value.get("type") == "image_url"
