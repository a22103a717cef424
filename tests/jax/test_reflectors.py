"""ormqr, the product with a QR factorisation's Q (Lineax solves by it): batch level, one matrix at a time."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.lax.linalg import ormqr

import samebits
import samebits.jax as sj
from tests.jax.programs import bits, normal

A, C = normal(9, 6, 4), normal(9, 6, 3, seed=1)


def product(a, c, left, transpose):
    h, taus = jnp.linalg.qr(a, mode="raw")
    return ormqr(h.mT, taus, c if left else c.T, left=left, transpose=transpose)


@pytest.mark.parametrize("transpose", [False, True])
@pytest.mark.parametrize("left", [False, True])
def test_products_with_q_alone_and_vmapped(left, transpose):
    f = sj.invariant(lambda a, c: product(a, c, left, transpose))
    many = jax.jit(jax.vmap(f))(A, C)
    sides = jax.jit(jax.vmap(f, (None, 0)))(A[0], C)
    for i in range(9):
        assert bits(many[i]) == bits(f(A[i], C[i]))
        assert bits(sides[i]) == bits(f(A[0], C[i]))
    q = np.linalg.qr(A[0], mode="complete")[0]
    q, c = q.T if transpose else q, C[0] if left else C[0].T
    np.testing.assert_allclose(many[0], q @ c if left else c @ q, rtol=1e-4, atol=1e-5)


def test_it_is_refused_at_level_portable():
    f = sj.invariant(lambda a, c: product(a, c, True, False), level="portable")
    with pytest.raises(samebits.UncoveredOperation, match="batch level"):
        f(A[0], C[0])
