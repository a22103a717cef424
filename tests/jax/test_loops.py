"""A scan whose body is one native program runs natively, and has the bits of its steps one by one."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from jax import lax

import samebits.jax as sj
from samebits.jax._hlo import float_arithmetic
from tests.jax.programs import bits, drifting_rows, normal

W, U, B = normal(8, 24, seed=1), normal(5, 24, seed=2), normal(24, seed=3)
TABLE = np.asarray(normal(8, seed=4))


def gru(h, x):
    gates = h @ W + x @ U + B
    r, z = (jax.nn.sigmoid(gates[..., i * 8 : i * 8 + 8]) for i in (0, 1))
    h = (1 - z) * jnp.tanh(r * gates[..., 16:]) + z * h
    return h, h


STEPS = {
    "gru": gru,
    "several": lambda c, x: ((c[0] + x[0], c[1] * 0.5, c[2] + 1), (c[0] * c[1].sum(), c[2])),
    "swapped": lambda c, x: ((c[1], c[0] * x[0]), c[0]),
    "handed on": lambda c, x: (c, (x, x[::-1] * 2, c)),
    "an array of its own": lambda c, x: (c * TABLE + x[0], c),
    "one result twice": lambda c, x: ((c[0] * x[0], c[0] * x[0]), (c[0] * x[0], x)),
    "outer": lambda c, x: (c + x[:, None] * x[None, :], None),
    "transposed": lambda c, x: (c.T + x.sum(), c[0]),
    "chosen": lambda c, x: (jnp.where(x[0] > 0, c * x[1], c), jnp.argmax(x)),
    "complex": lambda c, x: (c * lax.complex(x[0], x[1]) + 1j, c.real),
}
START = {
    "gru": normal(8),
    "several": (normal(3), normal(4, seed=5), jnp.int32(0)),
    "swapped": (normal(6), normal(6, seed=5)),
    "handed on": normal(6),
    "an array of its own": normal(8),
    "one result twice": (normal(6), normal(6)),
    "outer": normal(5, 5),
    "transposed": normal(5, 5),
    "chosen": normal(6),
    "complex": lax.complex(normal(4), normal(4, seed=5)),
}


def by_hand(step, start, xs, reverse=False):
    """A loop in Python, each step a program of its own."""
    once, ys = sj.invariant(step), []
    for x in xs[::-1] if reverse else xs:
        start, y = once(start, x)
        ys.append(y)
    ys = ys[::-1] if reverse else ys
    return start, jax.tree.map(lambda *a: jnp.stack(a), *ys)


def compiled(f, *args):
    program = jax.jit(sj.invariant(f)).lower(*args).compile()
    text = program.as_text() or ""
    assert not float_arithmetic(text)
    return program(*args), text


@pytest.mark.parametrize("name", STEPS)
@pytest.mark.parametrize(("length", "reverse"), [(2, False), (3, True), (7, False)])
def test_a_scan_runs_natively(name, length, reverse):
    xs = normal(length, 5, seed=6)

    def f(start, xs):
        return lax.scan(STEPS[name], start, xs, reverse=reverse)

    out, text = compiled(f, START[name], xs)
    assert bits(out) == bits(by_hand(STEPS[name], START[name], xs, reverse))
    assert "while(" not in text


@pytest.mark.parametrize("dtype", ["float64", "bfloat16", "float16"])
def test_other_dtypes(dtype):
    with jax.enable_x64(dtype == "float64"):
        xs, start = normal(5, 6).astype(dtype), normal(6, seed=1).astype(dtype)

        def step(c, x):
            return c * x + 1, (jnp.sin(c), x > 0)

        out, text = compiled(lambda s, xs: lax.scan(step, s, xs), start, xs)
        assert bits(out) == bits(by_hand(step, start, xs))
        assert "while(" not in text


def test_all_bits_of_what_is_handed_on():
    words = np.random.default_rng(0).integers(0, 2**16, (4, 64), np.uint16)
    for dtype in (jnp.bfloat16, jnp.float16):
        rows = jnp.asarray(words.view(dtype))
        (last, ys), _ = compiled(lambda s, xs: lax.scan(lambda c, x: (x, (c, x * 2)), s, xs), rows[0], rows[1:])
        assert bits(last) == bits(rows[3])
        assert bits(ys[0]) == bits(rows[:3])


@settings(max_examples=10, deadline=None)
@given(length=st.integers(0, 5), width=st.sampled_from([1, 2, 7, 17, 64]), reverse=st.booleans())
def test_lengths_and_widths(length, width, reverse):
    xs, start = normal(length, width), normal(width, seed=1)

    def step(c, x):
        c = jnp.tanh(c + x)
        return c, c * x.sum()

    out = jax.jit(sj.invariant(lambda s, xs: lax.scan(step, s, xs, reverse=reverse)))(start, xs)
    if length:
        assert bits(out) == bits(by_hand(step, start, xs, reverse))
    else:
        assert bits(out[0]) == bits(start)
        assert out[1].shape == (0, width)


def test_rows_and_gradients():
    xs = normal(8, 6, 5)

    def loss(xs, w):
        def step(h, x):
            return jnp.tanh(h @ w + x @ U[:, :8]), None

        return (lax.scan(step, jnp.zeros(8), xs)[0] ** 2).sum()

    for f in (loss, jax.grad(loss, (0, 1)), jax.checkpoint(loss)):
        single = sj.invariant(lambda xs, f=f: f(xs, W[:, :8]))
        assert drifting_rows(single, xs, (1, 3, 8)) == (0, 8)
        _, text = compiled(lambda xs, f=f: f(xs, W[:, :8]), xs[0])
        assert "while(" not in text
    assert drifting_rows(jax.grad(lambda xs: loss(xs, W[:, :8])), xs, (1, 3, 8))[0] > 0  # stock drifts


def test_what_xla_has_to_do_stays_a_loop():
    xs = normal(4, 6)
    for step in (
        lambda c, x: (jnp.sort(c) * x, None),
        lambda c, x: (c + jax.random.uniform(jax.random.key(0), (6,)) * x, None),
        lambda c, x: (lax.fori_loop(0, 3, lambda i, c: c * x, c), None),
    ):
        out, text = compiled(lambda s, xs, step=step: lax.scan(step, s, xs), xs[0], xs[1:])
        assert bits(out[0]) == bits(by_hand(step, xs[0], xs[1:])[0])
        assert "while(" in text
