"""Windows, top-k, segments and sums in parts: kinds of samebits.native against samebits.order."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from dev.fuzz.calls import FLOATS, INTEGERS, Call, array, axis_of, shape_of
from dev.fuzz.draw import size
from dev.fuzz.trial import Trial
from samebits import native, order


def draw_window(rng: Generator) -> Trial:
    """A reduction over windows, with strides, padding and dilations."""
    name = str(rng.choice(["window_sum", "window_prod", "window_max", "window_min"]))
    shape = shape_of(rng, int(rng.integers(1, 4)), 600)
    shape = [max(1, n) for n in shape]
    some = [int(rng.integers(1, 5)) for _ in shape]
    options: dict[str, Any] = {"strides": [int(rng.integers(1, 4)) for _ in shape]}
    if rng.random() < 0.6:
        options["padding"] = [(int(rng.integers(-1, 4)), int(rng.integers(-1, 4))) for _ in shape]
    if rng.random() < 0.3:
        options["window_dilation"] = [int(rng.integers(1, 3)) for _ in shape]
    if rng.random() < 0.3:
        options["base_dilation"] = [int(rng.integers(1, 3)) for _ in shape]
    return Call(name, [array(rng, str(rng.choice(FLOATS)), shape), some], options).trial()


def draw_top_k(rng: Generator) -> Trial:
    """The largest or smallest elements, or all of them in order."""
    x = array(rng, str(rng.choice([*FLOATS, *INTEGERS])), shape_of(rng, int(rng.integers(1, 4)), 1500))
    if rng.random() < 0.2:
        with np.errstate(all="ignore"):
            x = np.round(x.astype(np.float32)).astype(x.dtype) if x.dtype.kind == "f" else x % 4  # ties
    axis, name = axis_of(rng, x.shape), str(rng.choice(["top_k", "top_k", "sort", "argsort"]))
    if name != "top_k":
        return Call(name, [x], {"axis": axis}).trial()
    k = int(rng.integers(0, min(x.shape[axis], 70) + 1))
    return Call(name, [x, k], {"axis": axis, "largest": bool(rng.random() < 0.5)}).trial()


def draw_segment(rng: Generator) -> Trial:
    """Rows combined by segment, in ascending order."""
    name, dtype = f"segment_{rng.choice(['sum', 'prod', 'max', 'min'])}", str(rng.choice(FLOATS))
    rows, rest = size(rng, 60), shape_of(rng, int(rng.integers(0, 3)), 40)
    ids = rng.integers(-1, 8, rows).astype(str(rng.choice(INTEGERS)))
    return Call(name, [array(rng, dtype, [rows, *rest]), ids, int(rng.integers(0, 8))]).trial()


def draw_parts(rng: Generator) -> Trial:
    """Ordered accumulation by micro-batches of any sizes, in two processes' worth of partials, against the whole."""
    rows = array(rng, str(rng.choice(FLOATS)), [size(rng, 70), *shape_of(rng, 1, 30)])
    cut = int(rng.integers(0, len(rows) + 1))
    sizes = [int(n) for n in rng.integers(1, 9, len(rows))]

    def in_parts(x: NDArray) -> NDArray:
        parts = []
        for start, stop in ((0, cut), (cut, len(x))):
            parts += native.accumulate_partials(x[start:stop], start=start)
        return native.join_partials(parts, len(x), x.dtype) if len(x) else native.accumulate(x)

    def fed(x: NDArray) -> NDArray:
        total, at = native.Accumulator(), 0
        for n in sizes:
            if at < len(x):
                total.add(x[at : at + n])
                at += n
        return total.result(x.dtype) if at else native.accumulate(x)

    return Call("accumulate", [rows], {}, fed if rng.random() < 0.5 else in_parts, order.accumulate).trial()


KINDS: dict[str, tuple[Callable[[Generator], Trial], int]] = {
    "window": (draw_window, 2),
    "top_k": (draw_top_k, 1),
    "segment": (draw_segment, 1),
    "parts": (draw_parts, 1),
}
"""Of each kind what draws a case, and its share."""
