"""Plain data back to dataclasses, by their type hints: the inverse of Report.to_dict."""

import dataclasses
import types
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

T = TypeVar("T")

_NOT_FINITE = ("inf", "-inf", "nan")
"""What JSON has no numbers for is written as text."""


def decode(kind: type[T], data: Any, at: str) -> T:
    """An instance of a dataclass from a dictionary. Raises ValueError with the place, from `at` on."""
    if not isinstance(data, dict):
        raise ValueError(f"{at} is {_short(data)}, no object")
    known = {f.name: f for f in dataclasses.fields(kind)}  # type: ignore[arg-type]
    if unknown := [k for k in data if k not in known]:
        raise ValueError(f"{at} has {_short(unknown[0])}, which no {kind.__name__} has")
    for f in known.values():
        no_default = f.default is dataclasses.MISSING and f.default_factory is dataclasses.MISSING
        if f.name not in data and no_default:
            raise ValueError(f"{at} lacks {f.name}")
    hints = get_type_hints(kind)
    return kind(**{k: _value(hints[k], v, f"{at}.{k}") for k, v in data.items()})


def _value(hint: Any, value: Any, at: str) -> Any:
    origin, arguments = get_origin(hint), get_args(hint)
    if dataclasses.is_dataclass(hint):
        return decode(hint, value, at)  # type: ignore[arg-type]
    if origin in (Union, types.UnionType):
        if value is None and types.NoneType in arguments:
            return None
        (other,) = (a for a in arguments if a is not types.NoneType)
        return _value(other, value, at)
    if origin is Literal and isinstance(value, str) and value in arguments:
        return value
    if origin is dict and isinstance(value, dict) and all(isinstance(k, str) for k in value):
        return {k: _value(arguments[1], v, f"{at}[{_short(k)}]") for k, v in value.items()}
    if origin is tuple and isinstance(value, (list, tuple)):
        kinds = arguments[:1] * len(value) if arguments[-1] is ... else arguments
        if len(kinds) == len(value):
            return tuple(_value(k, v, f"{at}[{i}]") for i, (k, v) in enumerate(zip(kinds, value, strict=True)))
    if hint is float and (_is(value, int) or isinstance(value, float) or value in _NOT_FINITE):
        return _float(value, at)
    if hint in (str, int, bool) and _is(value, hint):
        return value
    raise ValueError(f"{at} is {_short(value)}, no {_name(hint)}")


def _float(value: Any, at: str) -> float:
    try:
        return float(value)
    except OverflowError as e:
        raise ValueError(f"{at} is {_short(value)}, too large for a number") from e


def _is(value: Any, kind: Any) -> bool:
    return isinstance(value, kind) and (kind is bool or not isinstance(value, bool))


def _name(hint: Any) -> str:
    if get_origin(hint) is Literal:
        return "one of " + ", ".join(map(repr, get_args(hint)))
    return hint.__name__ if isinstance(hint, type) and not get_args(hint) else str(hint).replace("typing.", "")


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:59] + "…"
