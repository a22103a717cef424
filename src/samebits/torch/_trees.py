"""Containers of tensors: dicts, tuples, named tuples, lists and dataclasses, at any depth."""

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from typing import Any


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
        return items if type(tree) is dict else type(tree)(items)  # type: ignore[call-arg]
    if isinstance(tree, (list, tuple)):
        parts = [rebuild(v, replace) for v in tree]
        return type(tree)(*parts) if hasattr(tree, "_fields") else type(tree)(parts)
    if _is_dataclass(tree):
        copy = object.__new__(type(tree))
        for f in dataclasses.fields(tree):
            object.__setattr__(copy, f.name, rebuild(getattr(tree, f.name), replace))
        return copy
    return replace(tree)


def _children(tree: Any) -> list[tuple[str, Any]] | None:
    if isinstance(tree, Mapping):
        return [(f"[{k!r}]", v) for k, v in tree.items()]
    if isinstance(tree, tuple) and hasattr(tree, "_fields"):
        return [(f".{k}", v) for k, v in zip(tree._fields, tree, strict=True)]  # type: ignore[attr-defined]
    if isinstance(tree, (list, tuple)):
        return [(f"[{i}]", v) for i, v in enumerate(tree)]
    if _is_dataclass(tree):
        return [(f".{f.name}", getattr(tree, f.name)) for f in dataclasses.fields(tree)]
    return None


def _is_dataclass(tree: Any) -> bool:
    return dataclasses.is_dataclass(tree) and not isinstance(tree, type)
