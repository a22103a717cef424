"""Small equations of JAX's primitives in several dtypes, for dev.primitives: traced, never run.

Most come from the test programs in JAX's wheel, one for each group and dtype. The programs here have what those lack:
control flow, calls, callbacks, keys, collectives, and a few functions.
"""

import warnings
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.ad_checkpoint import checkpoint_name
from jax.experimental import io_callback
from jax.sharding import PartitionSpec

from samebits.jax import _compat

DTYPES = ("float32", "bfloat16", "float64", "complex64", "float8_e4m3fn", "int32", "bool")
X = jax.ShapeDtypeStruct((4, 4), jnp.float32)


def sample_equations() -> Iterator[Any]:
    """Equations of all programs, those inside other equations too."""
    from jax._src.internal_test_util.test_harnesses import all_harnesses

    with jax.enable_x64(True), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        chosen = {(h.group_name, str(h.dtype)): h for h in reversed(all_harnesses)}
        for harness in reversed(chosen.values()):
            yield from _traced(lambda h=harness: jax.make_jaxpr(h.dyn_fun)(*h.dyn_args_maker(np.random.RandomState(0))))
        for f in SAMPLES:
            for dtype in DTYPES:
                yield from _traced(lambda f=f, d=dtype: jax.make_jaxpr(f)(jax.ShapeDtypeStruct(X.shape, jnp.dtype(d))))


def bare_equations(primitives: set[Any]) -> Iterator[Any]:
    """Equations without parameters, of primitives that no program has: on one operand, or on two or three alike.

    JAX itself refuses most of them; the last of each primitive is a record in the form of an equation, which stands in
    where nothing else does: what has no rule is refused whatever its operands are.
    """
    source_info = jax.make_jaxpr(jnp.sin)(1.0).jaxpr.eqns[0].source_info
    for primitive in sorted(primitives, key=lambda p: p.name):
        for dtype in DTYPES:
            for count in (1, 2, 3):
                operands = [jax.ShapeDtypeStruct(X.shape, jnp.dtype(dtype))] * count
                yield from _traced(lambda p=primitive, o=operands: jax.make_jaxpr(p.bind)(*o))
        atom = SimpleNamespace(aval=_compat.ShapedArray(X.shape, X.dtype))
        over_devices = {"axes": ("i",), "axis_name": ("i",), "axis_index_groups": None}
        yield SimpleNamespace(
            primitive=primitive, invars=[atom], outvars=[atom], params=over_devices, source_info=source_info
        )


def _traced(trace: Callable[[], Any]) -> Iterator[Any]:
    try:
        closed = trace()
    except Exception:  # no such operation in this dtype
        return
    yield from _equations(closed)


def _equations(jaxpr: Any) -> Iterator[Any]:
    for eqn in _compat.opened(jaxpr)[0].eqns:
        yield eqn
        for inner in _compat.sub_jaxprs(eqn.params):
            yield from _equations(inner)


def _mapped(f: Callable[[Any], Any], typed: bool = False) -> Callable[[Any], Any]:
    """f over the one device of a mesh; "i" is its axis; typed: JAX checks on which axes values vary."""
    mesh = jax.make_mesh((1,), ("i",), devices=jax.devices()[:1])
    spec = PartitionSpec("i")
    return jax.shard_map(f, mesh=mesh, in_specs=spec, out_specs=spec, check_vma=typed)


def _key(x: Any) -> Any:
    return jax.random.wrap_key_data(jnp.zeros((2,), jnp.uint32) + x.astype(jnp.uint32)[0, :2])


@jax.custom_vjp
def _with_rule(x: Any) -> Any:
    return x


_with_rule.defvjp(lambda x: (x, None), lambda _, g: (g,))


@jax.custom_batching.custom_vmap
def _with_batching(x: Any) -> Any:
    return x


_with_batching.def_vmap(lambda size, batched, x: (x, batched[0]))


SAMPLES: list[Callable[[Any], Any]] = [
    # control flow and calls
    lambda x: lax.scan(lambda c, a: (c, a), x[0], x),
    lambda x: lax.while_loop(lambda c: c[0, 0] != c[0, 0], lambda c: c, x),
    lambda x: lax.cond(True, lambda a: a, lambda a: -a, x),
    lambda x: lax.cond(x[0, 0] != x[0, 1], lambda a: a, lambda a: a.T, x),
    jax.checkpoint(lambda x: x.T),
    jax.jit(lambda x: x.T),
    jax.nn.relu,
    _with_rule,
    _with_batching,
    lax.composite(lambda x: x.T, name="samebits.transpose"),
    lambda x: lax.platform_dependent(x, cpu=jnp.transpose, default=lambda a: a),
    lambda x: jax.named_call(jnp.transpose)(x),
    lambda x: checkpoint_name(x, "x"),
    lambda x: lax.custom_linear_solve(lambda v: v, x, lambda _, b: b),
    # callbacks
    lambda x: jax.pure_callback(lambda v: v, x, x),
    lambda x: io_callback(lambda v: v, x, x),
    lambda x: jax.debug.callback(lambda v: None, x),
    lambda x: jax.debug.print("{}", x),
    # movement
    lambda x: lax.with_sharding_constraint(x, jax.sharding.SingleDeviceSharding(jax.devices()[0])),
    lax.optimization_barrier,
    lambda x: lax.after_all(lax.create_token()),
    lambda x: lax.empty(x.shape, x.dtype),
    lambda x: lax.dce_sink(x),
    lambda x: lax.tile_p.bind(x, reps=(2, 2)),
    lambda x: jnp.stack([x, x]),
    lambda x: lax.unstack_p.bind(x, axis=0),
    lambda x: jax.device_put(x, jax.devices()[0]),
    # functions of one or two operands
    lambda x: lax.exp2(x),
    lambda x: lax.polygamma(x, x),
    lambda x: lax.zeta(x, x),
    lambda x: jax.grad(lambda a: lax.igamma(a, x).sum())(x),
    lambda x: lax.reduce_xor_p.bind(x, axes=(0,), out_sharding=None),
    lambda x: x.at[0].subtract(x[1]),
    lambda x: lax.scatter_sub(x, jnp.zeros((1, 1), jnp.int32), x[:1], lax.ScatterDimensionNumbers((1,), (0,), (0,))),
    lambda x: lax.mulhi(x, x),
    lambda x: lax.ragged_dot(x, jnp.stack([x, x]), jnp.array([1, 3])),
    # linear algebra
    lambda x: lax.linalg.householder_product(x, x[0]),
    lambda x: lax.linalg.hessenberg(x),
    lambda x: lax.linalg.schur(x),
    lambda x: lax.linalg.tridiagonal(x),
    lambda x: lax.linalg.lu_pivots_to_permutation(x[0].astype(jnp.int32), 4),
    # keys
    lambda x: jax.random.clone(_key(x)),
    lambda x: jax.random.fold_in(_key(x), 1),
    lambda x: jax.random.bits(_key(x)),
    lambda x: jax.random.split(_key(x)),
    # named axes: of mapped rows, then of devices
    jax.vmap(lambda x: lax.psum(x, "r"), axis_name="r"),
    jax.vmap(lambda x: lax.pmax(x, "r"), axis_name="r"),
    jax.vmap(lambda x: lax.pmin(x, "r"), axis_name="r"),
    lambda x: _mapped(lambda a: lax.psum(a, "i"))(x),
    lambda x: _mapped(lambda a: lax.pmax(a, "i") + lax.pmin(a, "i"))(x),
    lambda x: _mapped(lambda a: lax.all_gather(a, "i")[0])(x),
    lambda x: _mapped(lambda a: lax.psum_scatter(a, "i", tiled=True))(x),
    lambda x: _mapped(lambda a: lax.all_to_all(a, "i", 0, 0, tiled=True))(x),
    lambda x: _mapped(lambda a: lax.ppermute(a, "i", [(0, 0)]))(x),
    lambda x: _mapped(lambda a: a + lax.axis_index("i").astype(a.dtype))(x),
    lambda x: _mapped(lambda a: a + lax.psum(a, "i"), typed=True)(x),
]
