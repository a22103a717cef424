"""Convolutions, windows and reductions with a body of complex numbers (clauses CONV-6, FOLD-4)."""

import jax
import numpy as np
import pytest
from jax import lax

import samebits
import samebits.jax as sj
from samebits import order
from samebits.jax._hlo import float_arithmetic
from tests.jax.programs import bits, normal


def complexes(*shape, seed=0):
    return np.asarray(normal(*shape, seed=seed)) + np.complex64(1j) * np.asarray(normal(*shape, seed=seed + 50))


def same(got, re, im):
    return bits((np.real(got), np.imag(got))) == bits((re, im))


def test_convolutions_are_three_real_ones():
    z, w = complexes(2, 3, 7, 8), complexes(4, 3, 3, 2, seed=1)
    f = sj.invariant(lambda z, w: lax.conv_general_dilated(z, w, (2, 1), ((1, 1), (0, 2)), lhs_dilation=(1, 2)))
    how = {"strides": (2, 1), "padding": ((1, 1), (0, 2)), "lhs_dilation": (1, 2)}
    first, second, third = (order.conv(a, b, **how) for a, b in (
        (z.real + z.imag, w.real), (z.real, w.imag - w.real), (z.imag, w.real + w.imag)))  # fmt: skip
    assert same(f(z, w), order.sub(first, third), order.add(first, second))
    many = jax.jit(jax.vmap(f))(np.stack([z[::-1], z]), np.stack([w, w]))
    assert bits(many[1]) == bits(f(z, w))
    assert float_arithmetic(jax.jit(f).lower(z, w).compile().as_text() or "") == []


def test_windows():
    z = complexes(7, 6)
    how = (3, 2), (2, 1), ((1, 1), (0, 1))
    f = sj.invariant(lambda z: lax.reduce_window(z, np.complex64(0), lax.add, *how))
    assert same(f(z), order.window_sum(z.real, *how), order.window_sum(z.imag, *how))
    for start, function in ((-np.inf, lax.max), (np.inf, lax.min), (1, lax.mul), (2, lax.add)):
        g = lambda z, s=start, f=function: lax.reduce_window(z, np.complex64(s), f, *how)  # noqa: E731
        np.testing.assert_allclose(sj.invariant(g)(z), jax.jit(g)(z), rtol=1e-5, atol=1e-5)
        many = jax.jit(jax.vmap(sj.invariant(g)))(np.stack([z[::-1], z]))
        assert bits(many[1]) == bits(sj.invariant(g)(z))


def test_folds():
    z = complexes(33, 2)
    start = np.complex64(0.5 - 1j)
    f = sj.invariant(lambda z: lax.reduce(z, start, lax.add, (0,)))
    assert same(f(z), order.add(np.float32(0.5), order.sum(z.real, 0)), order.add(np.float32(-1), order.sum(z.imag, 0)))
    g = sj.invariant(lambda z: lax.reduce(z, start, lambda a, b: a * b + 1, (0,)))
    bodies = lambda a, b: [order.add(order.mul(a[0], b[0]), np.complex64(1))]  # noqa: E731
    assert bits(g(z)) == bits(order.fold(bodies, [z], [start], 0)[0])


def test_no_order_of_complex_numbers():
    z = complexes(4, 4)
    with pytest.raises(samebits.UncoveredOperation, match="no clause"):
        sj.invariant(lambda z: jax.jvp(lambda z: lax.reduce_window(
            z, np.complex64(-np.inf), lax.max, (2, 2), (1, 1), "VALID"), (z,), (z,)))(z)  # fmt: skip
