"""Rows and their gradients, windows, top-k, segments, sums in parts, complex numbers: native against order."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from dev.fuzz.calls import FLOATS, INTEGERS, Call, array, axis_of, shape_of
from dev.fuzz.draw import size
from dev.fuzz.trial import Trial
from samebits import native, order


def _scores(rng: Generator, dtype: str, shape: list[int]) -> NDArray:
    """Numbers of which many count in a softmax; half of the time any."""
    x = array(rng, dtype, shape)
    with np.errstate(all="ignore"):
        return x if rng.random() < 0.5 else (x.astype(np.float64) / 16).astype(x.dtype)


def draw_rows(rng: Generator) -> Trial:
    """Softmax and its kin, norms, activations, rotary embedding, and what is derived of them."""
    dtype, shape = str(rng.choice(FLOATS)), shape_of(rng, int(rng.integers(1, 4)), 2000)
    name = str(rng.choice(["softmax", "log_softmax", "logsumexp", "cross_entropy", "layer_norm", "rms_norm", "gelu",
                           "silu", "rotary"]))  # fmt: skip
    backward, options = rng.random() < 0.4, {}
    if name == "rotary":
        shape[-1] += shape[-1] % 2
        x, *tables = (array(rng, dtype, s) for s in (shape, *[[*shape[:-1], shape[-1] // 2]] * 2))
        options["interleaved"] = bool(rng.random() < 0.5)
        return Call("rotary_vjp" if backward else "rotary", [x, *tables], options).trial()
    x, u = _scores(rng, dtype, shape), array(rng, dtype, shape)
    if name in ("gelu", "silu"):
        if name == "gelu":
            options["approximate"] = bool(rng.random() < 0.5)
        return Call(f"{name}_vjp" if backward else name, [x, u] if backward else [x], options).trial()
    if name.endswith("norm"):
        scale = [array(rng, dtype, shape[-1:]) for _ in range(2 if name == "layer_norm" else 1)]
        if backward:
            return Call(f"{name}_vjp", [x, u, scale[0]]).trial()
        return Call(name, [x, *scale[: int(rng.integers(0, 3))]]).trial()
    axis = axis_of(rng, shape)
    options["axis"] = axis
    kept = [n for i, n in enumerate(shape) if i != axis % len(shape)]
    if name == "logsumexp":
        return Call(
            "logsumexp_vjp" if backward else name, [x, array(rng, dtype, kept)] if backward else [x], options
        ).trial()
    if name == "cross_entropy":
        kind = np.dtype(str(rng.choice(INTEGERS)))
        labels: Any = rng.integers(0, min(max(shape[axis], 1), np.iinfo(kind).max), kept).astype(kind)
        if shape[axis] == 0 or rng.random() < 0.5:
            labels = array(rng, dtype, shape)
        if backward:
            return Call("cross_entropy_vjp", [x, labels, array(rng, dtype, kept)], options).trial()
        return Call(name, [x, labels], options).trial()
    return Call(f"{name}_vjp" if backward else name, [x, u] if backward else [x], options).trial()


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


def draw_complex(rng: Generator) -> Trial:
    """An operation on complex numbers, by parts."""
    part = str(rng.choice(["float32", "float64"]))
    shape = shape_of(rng, int(rng.integers(1, 4)), 200)
    z, w = (order.complex(array(rng, part, shape), array(rng, part, shape)) for _ in range(2))
    one = ["neg", "conj", "abs", "sign", "real", "imag", "square", "sqrt", "rsqrt", "exp", "expm1", "log",
           "log1p", "sin", "cos", "tan", "sinh", "cosh", "tanh", "asin", "acos", "atan", "asinh", "acosh", "atanh",
           "logistic"]  # fmt: skip
    if rng.random() < 0.7:
        name = str(rng.choice(one))
        return Call(name, [z], {}, lambda x: native.apply(name, x)).trial()
    name = str(rng.choice(["add", "sub", "mul", "div", "eq", "ne", "pow"]))
    return Call(name, [z, w], {}, lambda a, b: native.apply(name, a, b)).trial()


KINDS: dict[str, tuple[Callable[[Generator], Trial], int]] = {
    "rows": (draw_rows, 5),
    "window": (draw_window, 2),
    "top_k": (draw_top_k, 1),
    "segment": (draw_segment, 1),
    "parts": (draw_parts, 1),
    "complex": (draw_complex, 2),
}
"""Of each kind what draws a case, and its share."""
