"""Random JAX programs: a function that draws its own operations while it is traced, from a seed and its shapes alone.

So the program of a row is the same alone, mapped and differentiated, and "wide", where every float is float64: the
value that it is held against. Operations are of bounded slope, so that a rounding stays one.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from numpy.random import Generator

FLOATS = ("float32", "float32", "float32", "float64", "bfloat16", "float16")
EPSILON = {"float64": 2.0**-52, "float32": 2.0**-23, "float16": 2.0**-10, "bfloat16": 2.0**-7}
MOST = 700  # elements of a value


class Draw:
    """The values of a program so far, each with the dtype that it has where it is not wide."""

    def __init__(self, rng: Generator, wide: bool, count: Any, facts: set[str]):
        self.rng, self.wide, self.count, self.facts = rng, wide, count, facts
        self.values: list[tuple[Any, str]] = []

    def add(self, x: Any, dtype: str) -> None:
        self.facts.add(dtype)
        if x.size <= MOST and x.ndim <= 5:
            self.values.append((x.astype("float64" if self.wide else dtype), dtype))

    def pick(self, least: int = 0) -> tuple[Any, str]:
        """One of the values, later ones rather, with at least so many axes."""
        found = [v for v in self.values if v[0].ndim >= least] or [(jnp.atleast_2d(v), d) for v, d in self.values]
        return found[max(self.rng.integers(len(found), size=2))]

    def other(self, x: Any, dtype: str) -> Any:
        """A value that has been given the shape and dtype of x, or broadcasts to it."""
        same = [v for v, d in self.values if d == dtype and v.shape == x.shape]
        if same and self.rng.random() < 0.7:
            return same[self.rng.integers(len(same))]
        y, _ = self.pick()
        if y.size == 0:
            return jnp.zeros((), x.dtype)
        kept = [n if self.rng.random() < 0.6 else 1 for n in x.shape]
        return jnp.resize(jnp.ravel(y), tuple(kept)).astype(x.dtype)

    def constant(self, *shape: int) -> Any:
        return self.rng.normal(size=shape).astype(np.float64 if self.wide else np.float32)

    def axis(self, x: Any) -> int:
        return int(self.rng.integers(x.ndim))


UNARY: list[Callable[[Any], Any]] = [
    jnp.tanh, jnp.sin, jnp.cos, jax.nn.sigmoid, lambda x: jnp.exp(-jnp.abs(x)), lambda x: jnp.sqrt(1 + x * x),
    lambda x: jnp.log1p(x * x), lax.erf, jnp.abs, lambda x: -x, lambda x: x * 1.1 + 0.3, lambda x: lax.rsqrt(1 + x * x),
    lambda x: jnp.expm1(jnp.tanh(x)), jnp.arctan, jax.nn.relu, jax.nn.softplus, jax.nn.gelu, jnp.arcsinh,
    lambda x: x / 3, lambda x: jnp.tanh(x) ** 3, lambda x: 1 / (2 + jnp.cos(x)), lambda x: jnp.clip(x, -1, 0.5),
    lambda x: jnp.cbrt(1 + x * x), lambda x: jnp.log(1.5 + jnp.sin(x)), lambda x: lax.stop_gradient(x) + x * 0.5,
]  # fmt: skip
BINARY: list[Callable[[Any, Any], Any]] = [
    jnp.add, jnp.subtract, lambda x, y: jnp.tanh(x) * y, jnp.maximum, jnp.minimum, lambda x, y: x / (1 + y * y),
    lambda x, y: jnp.arctan2(x, 1 + y * y), lambda x, y: (1 + jnp.abs(x)) ** jnp.tanh(y), jnp.logaddexp,
    lambda x, y: jnp.where(x > 0, x, x * jnp.tanh(y)), lambda x, y: x * 0.3 + y * 0.7, jnp.hypot,
    lambda x, y: lax.clamp(-jnp.abs(y), x, jnp.abs(y)) if jnp.shape(x) == jnp.shape(y) else x - y,
]  # fmt: skip
REDUCE: list[Callable[..., Any]] = [
    jnp.sum, jnp.mean, jnp.max, jnp.min, jnp.var, jax.nn.logsumexp, lambda x, axis: jnp.prod(jnp.cos(x), axis),
    lambda x, axis: jnp.sqrt(jnp.sum(x * x, axis) + 1), lambda x, axis: jnp.std(x, axis) if x.size > 3 else x.sum(axis),
]  # fmt: skip
ALONG: list[Callable[..., Any]] = [
    jnp.cumsum, lambda x, axis: lax.cumprod(jnp.cos(x), axis), lambda x, axis: lax.cummax(x, axis), jnp.sort,
    jax.nn.softmax, jax.nn.log_softmax, jnp.flip, lambda x, axis: lax.cumlogsumexp(x, axis),
    lambda x, axis: jnp.roll(x, 2, axis), lambda x, axis: jnp.diff(x, axis=axis, prepend=0.0),
    lambda x, axis: (x - x.mean(axis, keepdims=True)) * lax.rsqrt(x.var(axis, keepdims=True) + 1),
    lambda x, axis: jax.nn.standardize(x, axis, epsilon=1.0),
]  # fmt: skip


def unary(d: Draw) -> None:
    x, dtype = d.pick()
    d.add(UNARY[d.rng.integers(len(UNARY))](x), dtype)


def binary(d: Draw) -> None:
    x, dtype = d.pick()
    y = d.other(x, dtype)
    pair = (x, y) if d.rng.random() < 0.7 else (jnp.broadcast_to(y, x.shape), x)
    d.add(BINARY[d.rng.integers(len(BINARY))](*pair), dtype)


def reduction(d: Draw) -> None:
    x, dtype = d.pick(1)
    count = d.rng.integers(1, x.ndim + 1)
    axes = tuple(int(a) for a in d.rng.permutation(x.ndim)[:count])
    if all(x.shape[a] for a in axes):
        d.add(REDUCE[d.rng.integers(len(REDUCE))](x, axis=axes), dtype)


def along(d: Draw) -> None:
    x, dtype = d.pick(1)
    if x.size:
        d.add(ALONG[d.rng.integers(len(ALONG))](x, axis=d.axis(x)), dtype)


def product(d: Draw) -> None:
    x, dtype = d.pick(1)
    k = x.shape[-1]
    if k == 0:
        return
    kind, scale = d.rng.integers(5), 1 / np.sqrt(k)
    if kind < 2:
        w = (d.constant(k, int(d.rng.choice([1, 2, 5, 16, 33]))) * scale).astype(x.dtype)
        out = x @ w if kind == 0 else lax.dot_general(w, x, (((0,), (x.ndim - 1,)), ((), ())))
    elif kind == 2:
        y = jnp.broadcast_to(d.other(x, dtype), x.shape)
        out = jnp.einsum("...i,...i->...", x, y * scale)
    elif kind == 3:
        y = jnp.tanh(jnp.broadcast_to(d.other(x, dtype), x.shape)).reshape(-1, k)
        narrow = dtype in ("bfloat16", "float16") and not d.wide
        out = jnp.matmul(x, y.T * scale, preferred_element_type=jnp.float32 if narrow else None)
        dtype = "float32" if narrow or dtype in ("bfloat16", "float16") else dtype
    else:
        out = jnp.convolve(jnp.ravel(x), d.constant(3).astype(x.dtype), "same")
    d.add(out, dtype)


def movement(d: Draw) -> None:
    x, dtype = d.pick(1)
    kind, axis = d.rng.integers(9), d.axis(x)
    if kind == 0:
        out = jnp.transpose(x, d.rng.permutation(x.ndim).tolist())
    elif kind == 1:
        out = x.reshape(-1) if d.rng.random() < 0.5 else x.reshape(x.shape[-1], -1) if x.shape[-1] else x
    elif kind == 2:
        out = jnp.concatenate([x, jnp.broadcast_to(d.other(x, dtype), x.shape)], axis)
    elif kind == 3:
        out = lax.slice_in_dim(x, 0, max(1, x.shape[axis] - 1), 2, axis) if x.shape[axis] else x
    elif kind == 4:
        pads = [(int(d.rng.integers(-1, 3)), int(d.rng.integers(0, 2)), int(d.rng.integers(0, 2))) for _ in x.shape]
        out = lax.pad(x, jnp.asarray(0.5, x.dtype), pads) if min(x.shape) > 1 else x
    elif kind == 5:
        out = jnp.broadcast_to(x, (int(d.rng.integers(1, 4)), *x.shape))
    elif kind == 6:
        out = jnp.stack([x, -x], axis)
    elif kind == 7:
        out = jnp.rot90(x) if x.ndim > 1 else x[::-1]
    else:
        out = x[..., None] * jnp.ones(2, x.dtype)
    d.add(out, dtype)


def indexing(d: Draw) -> None:
    x, dtype = d.pick(1)
    axis = d.axis(x)
    n = x.shape[axis]
    if n == 0:
        return
    kind = d.rng.integers(8)
    where = d.rng.integers(-n, n, int(d.rng.integers(1, 6)))
    first = jnp.moveaxis(x, axis, 0)
    if kind == 0:
        out = jnp.take(x, where, axis)
    elif kind == 1:
        out = jnp.zeros_like(first).at[where % n].add(first[: len(where)] if len(where) <= n else first[:1])
    elif kind == 2:
        out = lax.dynamic_slice_in_dim(x, d.count, max(1, n // 2), axis)
    elif kind == 3:
        out = lax.dynamic_update_slice_in_dim(x, jnp.tanh(lax.slice_in_dim(x, 0, 1, axis=axis)), d.count, axis)
    elif kind == 4:
        out = first.at[d.count % n].mul(0.5)
    elif kind == 5:
        out = jax.ops.segment_sum(first, (jnp.arange(n) * 7 + d.count) % 3, 3)
    elif kind == 6:
        out = jnp.zeros_like(first).at[d.rng.permutation(n)].set(first)
    else:
        out = first.at[d.count].max(0.1, mode="drop") + jnp.take(first, d.count, 0, mode="clip")
    d.add(out, dtype)


def control(d: Draw) -> None:
    x, dtype = d.pick(1)
    if x.shape[0] == 0:
        return
    kind, seed = d.rng.integers(8), int(d.rng.integers(2**31))
    body = partial(_body, seed=seed, wide=d.wide, facts=d.facts, dtype=dtype)
    if kind == 0:
        out = lax.scan(lambda c, a: (body(c, a), jnp.sum(c)), x[0], x, reverse=bool(d.rng.integers(2)))
        out = jnp.ravel(out[0]) if d.rng.random() < 0.5 else out[1]
    elif kind == 1:
        out = lax.fori_loop(0, 3, lambda i, c: body(c, i.astype(c.dtype) / 3), x)
    elif kind == 2:
        d.facts.add("while")
        out = lax.while_loop(lambda s: s[0] < d.count, lambda s: (s[0] + 1, body(s[1], x)), (jnp.int32(0), x))[1]
    elif kind == 3:
        out = lax.cond(d.count > 1, lambda v: body(v, v), jnp.sin, x)
    elif kind == 4:
        out = lax.switch(d.count, [lambda v: v / 3, lambda v: body(v, v), jnp.tanh], x)
    elif kind == 5:
        out = lax.map(lambda v: body(v, v), x)
    elif kind == 6:
        out = jax.checkpoint(lambda v: body(v, jnp.tanh(v)))(x)
    else:
        out = jax.vmap(lambda v: body(v, v[::-1] if v.ndim else v), -1, -1)(x)
    d.add(out, dtype)


def _body(c: Any, a: Any, *, seed: int, wide: bool, facts: set[str], dtype: str) -> Any:
    """A few elementwise operations on a carried value of this dtype, and at times a reduction of it."""
    rng = np.random.default_rng(seed)
    out = BINARY[rng.integers(len(BINARY))](c, jnp.broadcast_to(a, c.shape))
    if c.ndim and rng.random() < 0.4:
        out = out + (jnp.mean(out, -1, keepdims=True) if rng.random() < 0.5 else jax.nn.softmax(out))
    if c.ndim and rng.random() < 0.3:
        w = jnp.asarray(rng.normal(size=(c.shape[-1],) * 2) / np.sqrt(c.shape[-1]), c.dtype)
        out = out @ w
    return UNARY[rng.integers(len(UNARY))](jnp.tanh(out)).astype(c.dtype)


def cast(d: Draw) -> None:
    x, _ = d.pick()
    d.add(x, str(d.rng.choice(FLOATS)))


STEPS = [unary, unary, binary, binary, reduction, along, product, product, movement, indexing, control, control, cast]


def inputs(seed: int, rows: int) -> tuple[Any, Any, Any]:
    """Rows of a program's arguments: two float arrays and a small integer."""
    rng = np.random.default_rng([seed, 1])
    sizes = [1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 33]
    shapes = [tuple(int(n) for n in rng.choice(sizes, rng.integers(0, 3))) for _ in range(2)]
    if rng.random() < 0.1:
        shapes[0] = (int(rng.choice([100, 257, 512])),)
    x, y = (rng.normal(size=(rows, *s)).astype(jnp.dtype(str(rng.choice(FLOATS)))) for s in shapes)
    return x, y, rng.integers(0, 4, rows).astype(np.int32)


def program(seed: int, facts: set[str], wide: bool = False) -> Callable[[Any, Any, Any], list[Any]]:
    """The program of a seed: arrays x, y and an integer to a list of float arrays. Facts of it are added to `facts`
    as it is traced: its dtypes, and "while" where it has no reverse derivative."""

    dtypes = [str(v.dtype) for v in inputs(seed, 1)[:2]]

    def run(x: Any, y: Any, count: Any) -> list[Any]:
        rng = np.random.default_rng([seed, 2])
        d = Draw(rng, wide, count, facts)
        for v, dtype in zip((x, y), dtypes, strict=True):
            d.add(v, dtype)
        for _ in range(rng.integers(2, 8)):
            STEPS[rng.integers(len(STEPS))](d)
        return [v for v, _ in d.values[2:][-3:]] or [d.values[0][0] * 2]

    return run
