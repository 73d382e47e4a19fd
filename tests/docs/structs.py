"""What the source says of its structs: their fields, types and the texts below them, as a reader of the docs wants it.

Knows Python's syntax, and the few types that fields of ours have.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from dataclasses import dataclass
from types import ModuleType

_WORDS = {
    "str": "text", "int": "integer", "bool": "boolean", "Decimal": "number", "Json": "any",
    "Duration": "duration", "Expression": "expression", "FilePath": "path",
}  # fmt: skip


@dataclass(frozen=True)
class StructField:
    name: str
    """As in a file or a log."""
    type: str
    default: str | None
    """As written; None where a value is required."""
    about: str


@dataclass(frozen=True)
class Struct:
    name: str
    tag: str
    about: str
    fields: tuple[StructField, ...]


def structs(module: ModuleType) -> list[Struct]:
    """The classes of a module, in order, that have fields or a tag."""
    tree = ast.parse(inspect.getsource(module))
    aliases = {
        node.target.id: node.value
        for node in tree.body
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value is not None
    }
    found = []
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            tag = next((ast.literal_eval(k.value) for k in node.keywords if k.arg == "tag"), "")
            fields = tuple(_fields(node, aliases))
            if fields or tag:
                found.append(Struct(node.name, tag, ast.get_docstring(node) or "", fields))
    return found


def _fields(node: ast.ClassDef, aliases: dict[str, ast.expr]) -> Iterator[StructField]:
    for statement, below in zip(node.body, [*node.body[1:], None]):
        if not isinstance(statement, ast.AnnAssign) or not isinstance(statement.target, ast.Name):
            continue
        name, default = statement.target.id, None if statement.value is None else ast.unparse(statement.value)
        if isinstance(statement.value, ast.Call):
            settings = {keyword.arg: keyword.value for keyword in statement.value.keywords}
            name = ast.literal_eval(settings["name"]) if "name" in settings else name
            default = ast.unparse(settings["default"]) if "default" in settings else default
        about = ""
        if isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant) and isinstance(below.value.value, str):
            about = inspect.cleandoc(below.value.value)
        yield StructField(name, _type(statement.annotation, aliases), default, about)


def _type(node: ast.expr, aliases: dict[str, ast.expr]) -> str:
    match node:
        case ast.Name(name) if name in _WORDS:
            return _WORDS[name]
        case ast.Name(name) if name in aliases:
            return _type(aliases[name], aliases)
        case ast.Name(name):
            return f"[{name}](#{name.lower()})"
        case ast.BinOp(left, ast.BitOr(), right):
            sides = [_type(side, aliases) for side in (left, right) if not _is_none(side)]
            return " or ".join(sides)
        case ast.Subscript(ast.Name("Literal"), ast.Tuple(values)):
            return ", ".join(f"`{ast.literal_eval(value)}`" for value in values)
        case ast.Subscript(ast.Name("Literal"), value):
            return f"`{ast.literal_eval(value)}`"
        case ast.Subscript(ast.Name("tuple"), ast.Tuple([item, *_])):
            return f"list of {_type(item, aliases)}"
        case ast.Subscript(ast.Name("dict"), ast.Tuple([_, ast.Name("Json")])):
            return "object"
        case ast.Subscript(ast.Name("dict"), ast.Tuple([_, value])):
            return f"{_type(value, aliases)} by name"
    raise TypeError(f"how should documentation call the type {ast.unparse(node)}? Say so in {__name__}")


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None
