"""What loops carry is written where it was, known branches are taken, and neither moves a bit."""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import samebits.jax as sj
from tests.jax.programs import bits, normal

STEPS, N = 5, 49  # N * N numbers are worth writing in place


def compiled(f, *args):
    """(outputs, optimised HLO) of a rewritten program."""
    program = jax.jit(sj.invariant(f)).lower(*args).compile()
    return program(*args), program.as_text() or ""


def copies(hlo, shape):
    """Copies of such an array within loops and branches."""
    return re.findall(rf"{re.escape(shape)}\{{[\d,]*\}} copy\(", hlo[: hlo.index("ENTRY")])


def outer(total, x):
    return total + x[:, None] * x[None, :]


def in_xla(step):
    """A step with work for XLA: without any, a scan would run natively (test_loops.py)."""
    return lambda c, x: step(c, jnp.sort(x))


def by_hand(step, carry, xs):
    """A loop in Python, each step a program of its own."""
    for x in xs:
        carry = sj.invariant(step)(carry, x)
    return carry


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
def test_a_sum_that_a_scan_carries(dtype):
    with jax.enable_x64(dtype == "float64"):
        xs = normal(STEPS, N).astype(dtype)
        start = normal(N, N, seed=1).astype(dtype)

        def f(start, xs):
            return lax.scan(lambda c, x: (in_xla(outer)(c, x), None), start, xs)[0]

        out, hlo = compiled(f, start, xs)
        assert bits(out) == bits(by_hand(in_xla(outer), start, xs))
        name = {"float32": "f32", "float64": "f64", "bfloat16": "u16"}[dtype]
        assert "output_to_operand_aliasing" in hlo
        assert not copies(hlo, f"{name}[49,49]")
        assert bits(jax.jit(lambda s, xs: (sj.invariant(f)(s, xs), s))(start, xs)[1]) == bits(start)


def test_a_while_that_carries():
    xs = normal(STEPS, N)

    def f(start, xs):
        return lax.while_loop(lambda c: c[0] < STEPS, lambda c: (c[0] + 1, outer(c[1], xs[c[0]])), (0, start))[1]

    start = normal(N, N, seed=1)
    out, hlo = compiled(f, start, xs)
    assert bits(out) == bits(by_hand(outer, start, xs))
    assert not copies(hlo, "f32[49,49]")


STEP = {
    "read twice": lambda c, x: c + (c @ x)[:, None] * x[None, :],
    "read transposed": lambda c, x: c + c.T * x,
    "read by its neighbour's row": lambda c, x: c[::-1] + x,
    "read by a sum": lambda c, x: c - jnp.sum(c, axis=0) * x,
    "read by XLA": lambda c, x: jnp.sort(c, axis=0)[:, ::-1] + c * x,
    "two results": lambda c, x: jnp.tanh(c + x) * jnp.exp(-c),
}


@pytest.mark.parametrize("name", STEP)
def test_a_carry_that_a_step_reads_elsewhere_too(name):
    start, xs = normal(N, N, seed=1), normal(STEPS, N)
    for step in (STEP[name], in_xla(STEP[name])):
        out, _ = compiled(lambda s, xs, f=step: lax.scan(lambda c, x: (f(c, x), None), s, xs)[0], start, xs)
        assert bits(out) == bits(by_hand(step, start, xs))


def test_one_array_carried_twice():
    """Both carries begin as one array, and one of them takes the place of the other."""
    x, xs = normal(N, N), normal(STEPS, N)

    @in_xla
    def step(c, x):
        return (c[1] + x, c[0] * x)

    out, _ = compiled(lambda s, xs: lax.scan(lambda c, x: (step(c, x), c[0]), (s, s), xs), x, xs)
    assert bits(out[0]) == bits(by_hand(step, (x, x), xs))
    assert bits(out[1][0]) == bits(x)


def test_a_carry_that_is_kept_as_well():
    """The scan returns every state: XLA keeps what is overwritten."""
    start, xs = normal(N, N, seed=1), normal(STEPS, N)
    step = in_xla(outer)
    (last, states), _ = compiled(lambda s, xs: lax.scan(lambda c, x: (step(c, x), c), s, xs), start, xs)
    for i, x in enumerate(xs):
        assert bits(states[i]) == bits(start)
        start = sj.invariant(step)(start, x)
    assert bits(last) == bits(start)


def test_a_branch_that_changes_what_another_hands_on():
    start, xs = normal(N, N, seed=1), normal(STEPS, N)
    signs = jnp.array([True, False, True, True, False])

    def f(start, xs, signs):
        def step(c, a):
            x, taken = a
            return lax.cond(taken, outer, lambda c, x: c, c, x), None

        return lax.scan(step, start, (xs, signs))[0]

    out, hlo = compiled(f, start, xs, signs)
    assert bits(out) == bits(by_hand(outer, start, [x for x, s in zip(xs, signs, strict=True) if s]))
    assert "conditional(" in hlo
    assert not copies(hlo, "f32[49,49]")


@pytest.mark.parametrize("index", [-1, 0, 1, 2, 7])
def test_a_cond_whose_index_is_a_constant(index):
    branches = [jnp.tanh, jnp.sin, lambda x: x * 2]

    def f(x):  # inside jit, the index is an operand; rewritten, it is known
        return jax.jit(lambda i, x: lax.switch(i, branches, x))(np.int32(index), x)

    x = normal(33)
    out, hlo = compiled(f, x)
    assert bits(out) == bits(sj.invariant(branches[min(max(index, 0), 2)])(x))
    assert "conditional(" not in hlo


def test_what_xla_repeats_is_returned_once():
    """A native predicate that selects of XLA's broadcast: one small result, not one for each reader."""
    x = normal(7)
    keys = jnp.arange(7 * 33, dtype=jnp.uint32).reshape(7, 33)
    out, hlo = compiled(lambda x, k: jnp.where(x[:, None] > 0, k, k + 1), x, keys)
    assert np.array_equal(out, np.where(np.asarray(x)[:, None] > 0, keys, keys + 1))
    assert re.search(r"pred\[7(,1)?\]\{[\d,]*\} custom-call", hlo)
    assert not re.search(r"pred\[7,33\]\S* custom-call", hlo)
