"""Texts that came from elsewhere, made such that a terminal or a page shows them and obeys none of it."""

import re
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar

T = TypeVar("T")

# Control characters but tab and newline (an escape starts a terminal's commands), marks that turn the direction of what
# follows, and halves of surrogate pairs, which no encoding can write.
_OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def visible(value: T) -> T:
    """A text, or plain data with texts in it, with such characters as escapes ("\\x1b", "\\u202e")."""
    return _visible(value)


def _visible(value: Any) -> Any:
    if type(value) is str:
        return _OBEYED.sub(lambda m: f"\\x{ord(m[0]):02x}" if ord(m[0]) < 256 else f"\\u{ord(m[0]):04x}", value)
    if isinstance(value, dict):
        return {_visible(k): _visible(v) for k, v in value.items()}
    if isinstance(value, tuple):
        return value if value and isinstance(value[0], (int, float)) else tuple(map(_visible, value))
    if is_dataclass(value) and not isinstance(value, type):
        return replace(value, **{f.name: _visible(getattr(value, f.name)) for f in fields(value)})
    return value
