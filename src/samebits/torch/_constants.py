"""The tensors that a function closes over: a module's, those of closures, globals and attributes."""

import types
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any

import torch

# How far from the function a tensor is looked for: objects within objects.
DEPTH = 4


def closed_over(fn: Any) -> list[torch.Tensor]:
    """Each tensor once, in the order in which it is found."""
    found: dict[int, torch.Tensor] = {}
    seen: set[int] = set()
    for tensor in _reachable(fn, seen, DEPTH):
        found.setdefault(id(tensor), tensor)
    return list(found.values())


def _reachable(x: Any, seen: set[int], depth: int) -> Iterator[torch.Tensor]:
    if isinstance(x, torch.Tensor):
        yield x
        return
    if depth < 0 or id(x) in seen or isinstance(x, (str, bytes, int, float, complex, type, types.ModuleType)):
        return
    seen.add(id(x))
    if isinstance(x, torch.nn.Module):
        yield from x.parameters()
        yield from x.buffers()
        return
    for child in _parts(x):
        yield from _reachable(child, seen, depth - 1)


def _parts(x: Any) -> list[Any]:
    if isinstance(x, partial):
        return [x.func, *x.args, *x.keywords.values()]
    if isinstance(x, types.MethodType):
        return [x.__func__, x.__self__]
    if isinstance(x, types.FunctionType):
        cells = []
        for cell in x.__closure__ or ():
            try:
                cells.append(cell.cell_contents)
            except ValueError:  # not bound yet
                continue
        names = _names(x.__code__)
        named = [x.__globals__[n] for n in names if n in x.__globals__]
        modules = [vars(m) for m in named if isinstance(m, types.ModuleType)]
        inside = [m[n] for m in modules for n in names if isinstance(m.get(n), (torch.Tensor, torch.nn.Module))]
        return [*cells, *named, *inside, *(x.__defaults__ or ())]
    if isinstance(x, Mapping):
        return list(x.values())
    if isinstance(x, (list, tuple, set, frozenset)):
        return list(x)
    return list(vars(x).values()) if hasattr(x, "__dict__") else []


def _names(code: types.CodeType) -> list[str]:
    """Names that a function and those written inside it read from the globals."""
    inner = [n for c in code.co_consts if isinstance(c, types.CodeType) for n in _names(c)]
    return [*code.co_names, *inner]


@contextmanager
def replaced(tensors: list[torch.Tensor], move: Callable[[torch.Tensor], torch.Tensor]) -> Iterator[None]:
    """Real and complex tensors hold move(tensor) inside; their own memory comes back afterwards."""
    kept = [(t, t.data) for t in tensors if t.is_floating_point() or t.is_complex()]
    try:
        for t, data in kept:
            t.data = move(data)
        yield
    finally:
        for t, data in kept:
            t.data = data
