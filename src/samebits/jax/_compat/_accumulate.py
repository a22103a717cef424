"""Ordered accumulation as a primitive that JAX's transformations know."""

from typing import Any

import jax
from jax._src import config, core
from jax._src.interpreters import ad, batching
from jax._src.lax import parallel

from samebits.jax._compat._devices import vary


def _accumulate_type(aval: Any, *, axes: tuple[Any, ...], axis_index_groups: Any) -> Any:
    """The type of a sum over axes and names: it no longer varies over what it is summed over."""
    names = {a for a in axes if not isinstance(a, int)}
    if config._check_vma.value and (alike := names - aval.mat.varying):
        raise TypeError(
            f"accumulate() over {', '.join(map(repr, sorted(alike, key=str)))}: an output of f is alike on all devices "
            f"({aval.str_short()}). A derivative with respect to a value that f closes over has been summed by JAX: "
            "pass such values as arguments, with None in in_axes"
        )
    shape = tuple(n for i, n in enumerate(aval.shape) if i not in axes)
    spec = tuple(s for i, s in enumerate(aval.sharding.spec) if i not in axes)
    kept = aval.mat.update(varying=aval.mat.varying - names)
    out = aval.update(shape=shape, sharding=aval.sharding.update(spec=spec), manual_axis_type=kept, weak_type=False)
    return out, {core.NamedAxisEffect(n) for n in names}


def _accumulate_batched(axis_data: Any, values: Any, dims: Any, *, axes: Any, axis_index_groups: Any) -> Any:
    """Mapped rows become an axis; a value that is alike on all rows is repeated, since its sum rounds at each step."""
    (x,), (d,) = values, dims
    if d is None and axis_data.name in axes:
        x, d = jax.numpy.broadcast_to(x, (axis_data.size, *x.shape)), 0
    return parallel._batched_reduction_collective(
        accumulate_p, lambda v, size: v, axis_data, [x], [d], axes, axis_index_groups
    )


def _accumulate_transposed(ct: Any, x: Any, *, axes: tuple[Any, ...], axis_index_groups: Any) -> Any:
    """As of psum: each row has the cotangent; over devices by JAX's convention, which depends on what it checks."""
    names = tuple(a for a in axes if not isinstance(a, int))
    if config._check_vma.value:
        ct = vary(ct, names)
    elif names:
        ct = accumulate_p.bind(ct, axes=names, axis_index_groups=axis_index_groups)
    kept = [i for i in range(x.aval.ndim) if i not in axes]
    return [jax.lax.broadcast_in_dim(ct, x.aval.shape, kept)]


accumulate_p = core.Primitive("samebits_accumulate")
"""Ordered accumulation of one array over axes and names, psum's parameters; only the rewrite gives it a meaning."""
accumulate_p.def_effectful_abstract_eval(_accumulate_type)
batching.fancy_primitive_batchers[accumulate_p] = _accumulate_batched
ad.deflinear2(accumulate_p, _accumulate_transposed)
