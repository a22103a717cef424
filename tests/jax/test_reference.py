"""A whole program equals its evaluation by samebits.order, equation by equation, in hex.

The oracle below is an interpreter of jaxprs that knows nothing of regions, programs or kernels: each float equation is
one call of the NumPy reference, the rest is JAX's own data movement on integers and bits.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from jax import lax

import samebits.jax as sj
from samebits import order
from samebits._rules import OPERATIONS
from samebits.jax._flatten import flatten
from samebits.jax._rule import kinds
from samebits.jax.rules._elementwise import FLOAT
from tests.jax.programs import bits, loss, network, normal

NAMES = {"max": "maximum", "min": "minimum"}
REDUCE = {"reduce_sum": "sum", "reduce_prod": "prod", "reduce_max": "max", "reduce_min": "min"}


def reference(f, *args):
    """f(*args) by samebits.order."""
    equations, inputs, outputs = flatten(jax.make_jaxpr(f)(*args))
    env = dict(zip(inputs, map(np.asarray, args), strict=True))

    def read(v):
        return env[v] if v in env else np.asarray(v.const, v.aval.dtype)

    for e in equations:
        env.update(zip(e.outputs, evaluate(e, [read(v) for v in e.inputs]), strict=True))
    return [read(v) for v in outputs]


def evaluate(e, x):
    p, name = e.eqn.params, e.name
    if not kinds(e.eqn) & {"f", "c"}:
        pass
    elif name in ("real", "imag", "conj", "complex"):
        return [getattr(order, name)(*x)]
    elif name == "dot_general":
        return [order.dot_general(*x, *p["dimension_numbers"])]
    elif name in REDUCE:
        return [getattr(order, REDUCE[name])(x[0], p["axes"])]
    elif name in ("argmax", "argmin"):
        return [getattr(order, name)(x[0], p["axes"][0]).astype(p["index_dtype"])]
    elif name in ("cumsum", "cumprod", "cummax", "cummin"):
        return [getattr(order, name)(x[0], p["axis"], p["reverse"])]
    elif name == "integer_pow":
        return [order.integer_pow(x[0], p["y"])]
    elif name == "square":
        return [order.mul(x[0], x[0])]
    elif name == "clamp":
        return [order.clamp(*x)]
    elif name == "select_n":
        return [order.select(x[0], x[2], x[1])]
    elif name == "convert_element_type":
        return [order.convert(x[0], p["new_dtype"])]
    elif name in FLOAT:
        op = FLOAT[name]
        return [getattr(order, NAMES.get(op, op))(*x)]
    out = e.eqn.primitive.bind(*map(jnp.asarray, x), **p)
    return [np.asarray(o) for o in (out if e.eqn.primitive.multiple_results else [out])]


PROGRAMS = {
    "network": (network, normal(33)),
    "gradient": (jax.grad(loss), normal(300, 5, seed=8), normal(300, seed=9)),
    "batched": (jax.vmap(network), normal(9, 33)),
    "hessian": (jax.hessian(lambda x: jnp.sum(jnp.tanh(x) ** 3 * jnp.exp(-x))), normal(6)),
    "clamp between crossed bounds": (lambda x: lax.clamp(x[0] * 0 + 1, x, x[0] * 0 - 1), normal(33)),
    "softmax rows": (lambda x: jax.nn.log_softmax(x * 30, axis=0), normal(257, 3)),
    "norms": (lambda x: jnp.stack([jnp.linalg.norm(x), x.std(), x.prod(), x.min(), x.mean()]), normal(1000)),
    "functions": (lambda x: jnp.sin(x) + jnp.cos(x) * lax.erf(x) - jnp.log1p(x * x) / jnp.exp2(x) + jnp.expm1(x)
                  + lax.rsqrt(x * x) + lax.logistic(x) ** 2.5 + jnp.sign(x) * jnp.sqrt(jnp.abs(x)), normal(100)),
    "inverse functions": (jax.grad(lambda x: jnp.sum(
        jnp.tan(x) + jnp.arctan2(x, 1 - x) + jnp.arcsin(x / 9) * jnp.arccos(x / 8) + jnp.arctan(x)
        + jnp.sinh(x) * jnp.cosh(x) + jnp.arcsinh(x) + jnp.arccosh(1 + x * x)
        + jnp.arctanh(x / 7) + jnp.cbrt(x))), normal(100)),
    "cumulative": (lambda x: jnp.cumsum(x, 0) * jnp.cumsum(x[::-1], 0) + lax.cumprod(x)
                   + lax.cummax(x, reverse=True), normal(600)),
    "rounding": (lambda x: jnp.floor(x) + jnp.ceil(x * 7) + jnp.round(x * 5) + lax.round(x * 3)
                 + jnp.float32(3) % x + jnp.clip(x, -0.5, 0.25) + lax.nextafter(x, -x), normal(64)),
    "choice": (lambda x: (jnp.where(x > 0.1, -x, jnp.abs(x)), jnp.argmax(x), jnp.isfinite(x), x == x[0]), normal(64)),
    "bf16": (lambda x: (x * 3).sum() + jnp.dot(x, x), normal(300).astype(jnp.bfloat16)),
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_equal_the_reference(name):
    f, *args = PROGRAMS[name]
    assert bits(jax.tree_util.tree_leaves(sj.invariant(f)(*args))) == bits(reference(f, *args))


SPECIAL = [0.0, -0.0, 1e-45, -1e-40, 1.17549435e-38, 1.0, -1.0, 3.4e38, np.inf, -np.inf, np.nan, 0.1, 1e8, -2.5]
ONE = ("neg abs sign floor ceil is_finite sqrt rsqrt exp exp2 expm1 log log1p tanh logistic sin cos erf "
       "tan asin acos atan sinh cosh asinh acosh atanh cbrt "
       "erfc erf_inv lgamma digamma bessel_i0e bessel_i1e").split()  # fmt: skip
UNARY = [n for n in FLOAT if n in ONE]
BINARY = [n for n in FLOAT if n not in UNARY and n != "add_any"]


@pytest.mark.parametrize("name", UNARY + BINARY)
def test_each_elementwise_primitive_at_special_values(name):
    x = np.array(SPECIAL, np.float32)
    a, b = (g.ravel() for g in np.meshgrid(x, x))
    f = getattr(lax, f"{name}_p").bind
    args = (x,) if name in UNARY else (a, b)
    assert bits(sj.invariant(lambda *v: [f(*v)])(*args)) == bits(reference(lambda *v: [f(*v)], *args))
    assert OPERATIONS[FLOAT[name]].clause


STEPS = {
    "tanh": jnp.tanh,
    "exp": lambda x: jnp.exp(-x * x),
    "mul": lambda x: x * x,
    "add": lambda x: x + x[..., ::-1],
    "matmul": lambda x: x @ (normal(x.shape[-1], x.shape[-1], seed=2) * 0.1),
    "sum": lambda x: x - x.sum(-1, keepdims=True),
    "max": lambda x: jnp.maximum(x, 0.3),
    "where": lambda x: jnp.where(x > 0, x, 0.5 * x),
    "flip": lambda x: x[::-1],
}


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_random_chains_equal_the_reference(data):
    n = data.draw(st.sampled_from([0, 1, 2, 3, 7, 8, 16, 17, 31, 33, 64, 100, 256, 257]))
    names = data.draw(st.lists(st.sampled_from(sorted(STEPS)), max_size=6))

    def f(x):
        for name in names:
            x = STEPS[name](x)
        return x

    x = normal(3, n, seed=data.draw(st.integers(0, 99)))
    assert bits(sj.invariant(f)(x)) == bits(reference(f, x))
