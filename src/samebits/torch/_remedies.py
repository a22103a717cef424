"""What may make a PyTorch function hold: one thread, tiles of one size, a row at a time."""

from collections.abc import Callable, Sequence
from typing import Any

import torch

from samebits._frontends import Form, Remedy
from samebits.torch._trees import leaves, rebuild

TILE = 8


def remedies(fn: Any, form: Form) -> Sequence[Remedy]:
    found = [Remedy("one thread", "torch.set_num_threads(1)", "measured", lambda: _one_thread(fn))]
    if form == "batch":
        note = "each tile is a call of one size; a leak stays one"
        found.append(Remedy("fixed tiles", f"fn on {TILE} rows at a time, the last ones repeated", "measured",
                            lambda: _tiled(fn, TILE), notes=(note,)))  # fmt: skip
        found.append(Remedy("row at a time", "fn on each row as a batch of one", "measured", lambda: _tiled(fn, 1)))
    return found


def _one_thread(fn: Any) -> Callable[..., Any]:
    def run(batch: Any) -> Any:
        before = torch.get_num_threads()
        torch.set_num_threads(1)
        try:
            return fn(batch)
        finally:
            torch.set_num_threads(before)

    run.__name__ = getattr(fn, "__name__", type(fn).__name__)
    return run


def _tiled(fn: Any, rows: int) -> Callable[..., Any]:
    """fn on `rows` rows at a time; the last tile is filled up with its last row."""

    def run(batch: Any) -> Any:
        n = len(next(iter(leaves(batch)))[1])
        parts = []
        for start in range(0, n, rows):
            index = torch.arange(start, start + rows).clamp(max=n - 1)
            parts.append(fn(rebuild(batch, lambda x, i=index: x[i])))
        joined = iter([torch.cat(list(column))[:n] for column in
                       zip(*([x for _, x in leaves(p)] for p in parts), strict=True)])  # fmt: skip
        return rebuild(parts[0], lambda _: next(joined))

    run.__name__ = getattr(fn, "__name__", type(fn).__name__)
    return run
