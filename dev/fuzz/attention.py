"""Attention and its derivative, with any masks and strides: a kind of samebits.native against samebits.order."""

from typing import Any

import numpy as np
from numpy.random import Generator

from dev.fuzz.calls import FLOATS, Call, array, broadcast
from dev.fuzz.draw import size
from dev.fuzz.trial import Trial


def draw_attention(rng: Generator) -> Trial:
    dtype = str(rng.choice(FLOATS))
    batch, groups, each = (int(rng.integers(1, 4)) for _ in range(3))
    keys = size(rng, 40 if rng.random() < 0.7 else 1500)
    queries = size(rng, 2 if keys > 40 else 20)
    dim, v_dim = size(rng, 70), size(rng, 20)
    layout = str(rng.choice(["BHLD", "BLHD"]))
    backward = keys <= 300 and rng.random() < 0.3
    full = [batch, groups * each, queries, keys]

    def operand(heads: int, length: int, components: int) -> Any:
        shape = [heads, length] if layout == "BHLD" else [length, heads]
        x = array(rng, dtype, [batch, *shape, components])
        # Smaller scores, so that many weights count: a view still, or a copy.
        with np.errstate(all="ignore"):
            return x if rng.random() < 0.5 else (x.astype(np.float64) / 8).astype(x.dtype)

    options: dict[str, Any] = {"layout": layout}
    if rng.random() < 0.5:
        offset = int(rng.integers(-3, keys + 3))
        options |= {"causal": True, "offset": offset if rng.random() < 0.7 else [offset - i for i in range(batch)]}
    if rng.random() < 0.25:
        options["window"] = 1 + size(rng, keys + 1)
    for name in ("lengths", "starts"):
        if rng.random() < 0.25:
            options[name] = [int(n) for n in rng.integers(0, keys + 1, batch)]
    if rng.random() < 0.25:
        options["mask"] = rng.random(broadcast(rng, full)) < rng.choice([0.1, 0.5, 0.95])
    if rng.random() < 0.25:
        options["bias"] = array(rng, dtype, broadcast(rng, full))
    q, k, v = operand(groups * each, queries, dim), operand(groups, keys, dim), operand(groups, keys, v_dim)
    if backward:
        return Call("attention_backward", [q, k, v, operand(groups * each, queries, v_dim)], options).trial()
    if dtype in ("float16", "bfloat16") and rng.random() < 0.2:
        options["out_dtype"] = "float32"
    return Call("attention", [q, k, v], options).trial()


KINDS = {"attention": (draw_attention, 2)}
