"""Rows and their gradients (clauses ROW-*): a kind of samebits.native against samebits.order."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from dev.fuzz.calls import FLOATS, INTEGERS, Call, array, axis_of, shape_of
from dev.fuzz.trial import Trial


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


KINDS: dict[str, tuple[Callable[[Generator], Trial], int]] = {"rows": (draw_rows, 5)}
"""Of each kind what draws a case, and its share."""
