"""The second look: the optimised HLO of programs, their gradients and their maps holds no float arithmetic of XLA's.

Each program is compiled once, together with what JAX derives from it.
"""

import jax
import jax.numpy as jnp
import pytest

import samebits.jax as sj
from samebits.jax._hlo import float_arithmetic
from tests.jax.programs import PROGRAMS, bits, normal, row


def derived(f, *args):
    """The results of a program, of its gradient, of its map over three rows and of its gradient's map."""

    def total(x, *rest):
        return sum(jnp.sum(leaf) for leaf in jax.tree_util.tree_leaves(f(x, *rest)))

    rows, axes = jnp.stack([args[0], args[0] * 0.5, -args[0]]), (0, *(None for _ in args[1:]))
    mapped = [jax.vmap(g, axes)(rows, *args[1:]) for g in (f, jax.grad(total))]
    return f(*args), jax.grad(total)(*args), *mapped


@pytest.mark.parametrize("name", PROGRAMS)
def test_nothing_is_left_to_xla(name):
    """Inside invariant() everything is ours: the program, its derivatives and their maps."""
    f, args = PROGRAMS[name]
    compiled = jax.jit(sj.invariant(lambda *a: derived(f, *a))).lower(*args).compile()
    assert float_arithmetic(compiled.as_text() or "") == []
    alone, gradient, many, gradients = compiled(*args)
    assert bits(row(many, 0)) == bits(alone)
    assert bits(row(gradients, 0)) == bits(gradient)


@pytest.mark.parametrize("name", ["network", "looped", "scattered"])
def test_derivatives_of_an_invariant_program(name):
    """Derivatives taken outside are rewritten too, and so are their maps."""
    f, args = PROGRAMS[name]
    g = sj.invariant(f)

    def derivative(cotangents, *a):
        return jax.vjp(g, *a)[1](cotangents)

    cotangents = jax.tree_util.tree_map(jnp.ones_like, g(*args))
    for h in (derivative, jax.vmap(derivative)):
        ins = (cotangents, *args)
        if h is not derivative:
            ins = jax.tree_util.tree_map(lambda v: jnp.stack([v, v]), ins)
        assert float_arithmetic(jax.jit(h).lower(*ins).compile().as_text() or "") == []


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_look_sees_stock_arithmetic(name):
    """Negative control: stock programs have theirs."""
    f, args = PROGRAMS[name]
    assert float_arithmetic(jax.jit(f).lower(*args).compile().as_text() or "") != []


def test_calls_of_libraries_are_seen():
    """XLA's own of stock programs; callbacks are the user's, and LAPACK's calls have their level in the rules."""
    x = normal(4, 4)
    text = 'ENTRY %f (x: f32[4]) -> f32[4] {\n  ROOT %y = f32[4]{0} custom-call(%x), custom_call_target="NAME"\n}\n'
    assert float_arithmetic(text.replace("NAME", "__onednn$matmul")) == ["f32 custom-call __onednn$matmul"]
    assert float_arithmetic(text.replace("NAME", "samebits_program")) == []
    assert float_arithmetic(text.replace("f32", "s32")) == []
    covariance = x @ x.T + 9 * jnp.eye(4)
    assert sj.coverage(jnp.linalg.cholesky, covariance).hlo_findings == []
    assert sj.coverage(lambda x: jax.pure_callback(lambda v: v, x, x), x).hlo_findings == []
    assert sj.coverage(lambda x: jax.debug.print("{}", x), x).hlo_findings == []
