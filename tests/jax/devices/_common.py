"""The table of checks, meshes, and what a check compares with."""

from collections.abc import Callable
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import AxisType, PartitionSpec as P

import samebits.jax as sj
from samebits.jax._hlo import float_arithmetic
from tests.jax.programs import bits, normal

CHECKS: dict[str, Callable[[], None]] = {}
COUNTS = (1, 2, 4, 8)
SPLIT, WHOLE = P("d"), P()
AUTO, EXPLICIT = AxisType.Auto, AxisType.Explicit
ROWS = normal(8, 5, 6, seed=1)
X, W = normal(64, 33, seed=2), normal(33, 48, seed=3)


def check(f):
    CHECKS[f.__name__] = f
    return f


def mesh(n=8, kind=AUTO):
    return jax.make_mesh((n,), ("d",), axis_types=(kind,), devices=jax.devices()[:n])


def grid():
    return jax.make_mesh((2, 4), ("a", "b"), axis_types=(AUTO, AUTO))


def clean(compiled):
    """A compiled program, once XLA is seen to have no float arithmetic of its own in it."""
    found = float_arithmetic(compiled.as_text())
    assert not found, found
    return compiled


def compiled(f, *args):
    return clean(jax.jit(f).lower(*args).compile())(*args)


def special(dtype):
    """Eight rows of every kind of bits: NaNs with payloads, subnormals, -0."""
    width = {"float32": np.uint32, "bfloat16": np.uint16, "float8_e5m2": np.uint8}[dtype]
    words = np.random.default_rng(7).integers(0, np.iinfo(width).max, (8, 4, 8), width, endpoint=True)
    return jnp.asarray(words.view(jnp.dtype(dtype)))


def raises(kind, f):
    try:
        f()
    except kind as error:
        return str(error)
    raise AssertionError(f"{kind.__name__} was not raised")


def both_ways(f, x, in_specs=SPLIT, out_specs=WHOLE, on=None):
    """f under shard_map, invariant inside and outside of it, types of axes checked or not: one result."""
    on = on or mesh()
    results = []
    for check_vma in (True, False):
        shard = partial(jax.shard_map, mesh=on, in_specs=in_specs, out_specs=out_specs, check_vma=check_vma)
        results += [compiled(shard(sj.invariant(f)), x), compiled(sj.invariant(shard(f)), x)]
    assert all(bits(r) == bits(results[0]) for r in results)
    return results[0]
