"""Accuracy of rows and their gradients in float32 against float64, and gradients against slopes."""

import numpy as np
import pytest

from samebits import order

N = 200
RNG = np.random.default_rng(0)
X, U = RNG.standard_normal((2, 4, N)).astype(np.float32) * 3
G, B = RNG.standard_normal((2, N)).astype(np.float32)
LABEL = np.array([0, 7, 199, 100])
P = np.abs(U) / np.abs(U).sum(-1, keepdims=True)
EACH = U[:, 0]
COS, SIN = np.cos(X[:, : N // 2]), np.sin(X[:, : N // 2])

CASES = {
    "softmax": (lambda x: order.softmax(x), lambda x, u: order.softmax_vjp(x, u), U),
    "log_softmax": (lambda x: order.log_softmax(x), lambda x, u: order.log_softmax_vjp(x, u), U),
    "logsumexp": (lambda x: order.logsumexp(x), lambda x, u: order.logsumexp_vjp(x, u), EACH),
    "cross_entropy": (lambda x: order.cross_entropy(x, LABEL), lambda x, u: order.cross_entropy_vjp(x, LABEL, u), EACH),
    "soft cross_entropy": (lambda x: order.cross_entropy(x, P.astype(x.dtype)),
                           lambda x, u: order.cross_entropy_vjp(x, P.astype(x.dtype), u), EACH),
    "layer_norm": (lambda x: order.layer_norm(x, G.astype(x.dtype), B.astype(x.dtype)),
                   lambda x, u: order.layer_norm_vjp(x, u, G.astype(x.dtype))[0], U),
    "rms_norm": (lambda x: order.rms_norm(x, G.astype(x.dtype)),
                 lambda x, u: order.rms_norm_vjp(x, u, G.astype(x.dtype))[0], U),
    "gelu": (lambda x: order.gelu(x), lambda x, u: order.gelu_vjp(x, u), U),
    "silu": (lambda x: order.silu(x), lambda x, u: order.silu_vjp(x, u), U),
    "rotary": (lambda x: order.rotary(x, COS.astype(x.dtype), SIN.astype(x.dtype)),
               lambda x, u: order.rotary_vjp(u, COS.astype(x.dtype), SIN.astype(x.dtype)), U),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_float32_is_accurate(name):
    """Errors within a few units of float32 of each result's row, as any good implementation's are."""
    forward, backward, u = CASES[name]
    wide = X.astype(np.float64)
    for got, truth in ((forward(X), forward(wide)), (backward(X, u), backward(wide, u.astype(np.float64)))):
        scale = np.maximum(np.abs(truth), np.abs(truth).max(-1, keepdims=True))
        assert got.dtype == np.float32
        assert (np.abs(got - truth) <= 8 * np.finfo(np.float32).eps * scale).all(), name


@pytest.mark.parametrize("name", CASES)
def test_gradients_are_slopes(name):
    """Each vjp in float64 against the difference of the function along a random direction."""
    forward, backward, u = CASES[name]
    x, u = X.astype(np.float64), u.astype(np.float64)
    step = np.random.default_rng(1).standard_normal(x.shape)
    h = 1e-6
    slope = (((forward(x + h * step) - forward(x - h * step)) / (2 * h)) * u).sum()
    assert abs((backward(x, u) * step).sum() - slope) <= 1e-6 * (abs(slope) + 1), name


def test_gradients_of_scale_and_bias():
    x, u = X.astype(np.float64), U.astype(np.float64)
    _, dg, db = order.layer_norm_vjp(x, u, G.astype(np.float64))
    h = order.layer_norm(x)
    np.testing.assert_allclose(dg, (u * h).sum(0), rtol=1e-12)
    np.testing.assert_allclose(db, u.sum(0), rtol=1e-12)
    (_, db) = order.layer_norm_vjp(x, u)
    np.testing.assert_allclose(db, u.sum(0), rtol=1e-12)


def test_gelu_by_erfc():
    if not hasattr(order, "erfc"):
        pytest.skip("the reference has no erfc yet")
    assert abs(float(order.gelu(np.ones(1, np.float32), approximate=False)[0]) - 0.8413447) < 1e-6
