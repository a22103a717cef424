"""Containers of tensors: dicts, tuples, named tuples, lists and dataclasses, at any depth."""

import copy
import dataclasses
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from typing import Any

from samebits.torch import _compat


def leaves(tree: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """(name, leaf) of everything that is no container, in order; None is left out."""
    if tree is None:
        return
    for key, child in _children(tree) or ():
        yield from leaves(child, name + key)
    if _children(tree) is None:
        yield name, tree


def rebuild(tree: Any, replace: Callable[[Any], Any]) -> Any:
    """The same containers with each leaf replaced, in the order of `leaves`."""
    if tree is None:
        return None
    if isinstance(tree, Mapping):
        items = {k: rebuild(v, replace) for k, v in tree.items()}
        return _like(tree, items)
    if isinstance(tree, (list, tuple)):
        parts = [rebuild(v, replace) for v in tree]
        return type(tree)(*parts) if hasattr(tree, "_fields") else type(tree)(parts)
    if _is_dataclass(tree):
        new = object.__new__(type(tree))
        for f in dataclasses.fields(tree):
            object.__setattr__(new, f.name, rebuild(getattr(tree, f.name), replace))
        return new
    if (inside := _compat.registered(tree)) is not None:
        return _compat.rebuilt(tree, [rebuild(v, replace) for v in inside[0]])
    return replace(tree)


def _like(tree: Mapping[Any, Any], items: dict[Any, Any]) -> Any:
    """A mapping of the same type and order with other values."""
    if type(tree) is dict:
        return items
    new = copy.copy(tree)  # a defaultdict keeps its factory, a model's output its class
    if isinstance(new, MutableMapping):
        for key, value in items.items():
            new[key] = value
        return new
    return type(tree)(items)  # type: ignore[call-arg]


def _children(tree: Any) -> list[tuple[str, Any]] | None:
    if isinstance(tree, Mapping):
        return [(f"[{k!r}]", v) for k, v in tree.items()]
    if isinstance(tree, tuple) and hasattr(tree, "_fields"):
        return [(f".{k}", v) for k, v in zip(tree._fields, tree, strict=True)]  # type: ignore[attr-defined]
    if isinstance(tree, (list, tuple)):
        return [(f"[{i}]", v) for i, v in enumerate(tree)]
    if _is_dataclass(tree):
        return [(f".{f.name}", getattr(tree, f.name)) for f in dataclasses.fields(tree)]
    inside = _compat.registered(tree)
    return None if inside is None else [(f"[{i}]", v) for i, v in enumerate(inside[0])]


def _is_dataclass(tree: Any) -> bool:
    return dataclasses.is_dataclass(tree) and not isinstance(tree, type)
