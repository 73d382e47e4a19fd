"""The arguments of one tool: what it takes, as a check of any JSON value and as JSON Schema.

Knows the names and types of arguments. Does not know records. All that is wrong with a call is said at once, in
sentences that an agent can act on.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from itertools import islice

from ...events.event import Json, ToolError
from ..environment import Field
from ..spelling import nearest
from . import kinds

#: Unknown arguments that an error names; a call can have any number of them.
_MOST = 5


def invalid(message: str) -> ToolError:
    return ToolError(type="invalid_argument", message=message)


class Arguments:
    """What a tool takes: `fields` by name, of which those in `required` must be given.

    Those in `wanted` are values to search for, not to write. Null empties a field in `clears`; otherwise it is the same
    as leaving the argument out, since models often write it so. What is left out has its value in `defaults`, if any.
    """

    __slots__ = ("_accepts", "_clears", "_defaults", "_required", "_tool", "_wanted", "fields")

    def __init__(
        self,
        tool: str,
        fields: Mapping[str, Field],
        required: tuple[str, ...] = (),
        *,
        wanted: Collection[str] = (),
        clears: Collection[str] = (),
        defaults: Mapping[str, Json] | None = None,
    ) -> None:
        self._tool = tool
        self.fields = dict(fields)
        self._required = required
        self._wanted = frozenset(wanted)
        self._clears = frozenset(clears)
        self._defaults = dict(defaults or {})
        self._accepts = {
            name: kinds.accepts_wanted(field) if name in wanted else kinds.accepts(field)
            for name, field in fields.items()
        }

    def check(self, args: Json) -> dict[str, Json] | ToolError:
        """The arguments that were given, in the caller's order; or what is wrong with them."""
        if not isinstance(args, dict):
            return invalid(f"{self._tool} takes its arguments as one object, not as {kinds.shown(args)}.")
        accepts = self._accepts
        given: dict[str, Json] = {}
        for name, value in args.items():
            accept = accepts.get(name)
            if accept is None:
                return self._problems(args)
            if value is None:
                if name in self._clears:
                    given[name] = None
            elif accept(value):
                given[name] = value
            else:
                return self._problems(args)
        for name in self._required:
            if name not in given:
                return self._problems(args)
        return {**self._defaults, **given} if self._defaults else given

    def _problems(self, args: dict[str, Json]) -> ToolError:
        unknown = [self._unknown(name) for name in islice((name for name in args if name not in self.fields), _MOST)]
        wrong = [
            f'"{name}" must be {kinds.expected(field)}, not {kinds.shown(args[name])}.'
            for name, field in self.fields.items()
            if args.get(name) is not None and not self._accepts[name](args[name])
        ]
        missing = [
            f'{self._tool} needs "{name}", {kinds.expected(self.fields[name])}.'
            for name in self._required
            if args.get(name) is None
        ]
        return invalid(" ".join(unknown + wrong + missing))

    def _unknown(self, name: str) -> str:
        shown = f'{self._tool} has no argument "{name[:60]}"'
        close = nearest(name[:60], self.fields)
        if close is not None:
            return f'{shown}; did you mean "{close}"?'
        return f"{shown}; it takes {', '.join(self.fields) or 'none'}."

    def schema(self) -> dict[str, Json]:
        """The arguments as JSON Schema."""
        plain: dict[str, Json] = {
            "type": "object",
            "properties": {name: kinds.schema(field, name in self._wanted) for name, field in self.fields.items()},
        }
        if self._required:
            plain["required"] = list(self._required)
        plain["additionalProperties"] = False
        return plain
