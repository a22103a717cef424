"""samebits.jax.tiled: the same bits in every batch, measured; values, derivatives, errors."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import samebits
import samebits.jax as sj
from tests.jax.programs import bits, normal

W, V = normal(33, 48, seed=1) / 5, normal(48, 7, seed=2) / 5
X = normal(100, 33)


def layer(x):
    return jax.nn.softmax(jnp.tanh(x @ W) @ V)


def drift(f, sizes=(1, 2, 3, 7, 16, 33, 64)):
    """Rows whose bits differ from those in the whole batch, at some size."""
    whole = np.asarray(jax.jit(f)(X))
    parts = [np.asarray(jax.jit(f)(X[:n])) for n in sizes]
    return sum(a.tobytes() != b.tobytes() for p in parts for a, b in zip(p, whole, strict=False))


@pytest.mark.parametrize("rows", [1, 5, 8, 32])
def test_rows_do_not_drift(rows):
    assert drift(sj.tiled(layer, rows)) == 0


def test_stock_drifts():
    assert drift(layer) > 0


def test_the_audit_agrees():
    assert samebits.audit(sj.tiled(layer), X, axes=("size", "position")).holds


def test_values_and_containers():
    def f(batch):
        return {"y": batch["a"] * 2, "n": (batch["k"] + 1,)}

    batch = {"a": X[:13], "k": jnp.arange(13)}
    out = sj.tiled(f, 4)(batch)
    assert bits(out) == bits(f(batch))
    assert bits(jax.vmap(sj.tiled(lambda x, y: x + y, 3))(X.reshape(10, 10, 33), X.reshape(10, 10, 33))) == bits(
        X.reshape(10, 10, 33) * 2
    )


def test_gradients():
    got = jax.grad(lambda x: sj.tiled(layer)(x)[:, 0].sum())(X)
    np.testing.assert_allclose(got, jax.grad(lambda x: layer(x)[:, 0].sum())(X), rtol=1e-4, atol=1e-6)


def test_rows_of_nan_stay_where_they_are():
    x = X.at[4].set(jnp.nan)
    out = np.asarray(sj.tiled(layer)(x))
    assert np.isnan(out[4]).all()
    assert not np.isnan(np.delete(out, 4, axis=0)).any()


def test_errors():
    with pytest.raises(ValueError, match="1 row or more at a time; got 0"):
        sj.tiled(layer, 0)
    with pytest.raises(TypeError, match=r"got 2.5, which is no int"):
        sj.tiled(layer, 2.5)  # pyright: ignore[reportArgumentType]
    with pytest.raises(TypeError, match="a function of a batch; got 3"):
        sj.tiled(3)  # pyright: ignore[reportArgumentType]
    with pytest.raises(ValueError, match=r"on 8 rows it returned shape \(\)"):
        sj.tiled(jnp.sum)(X)
    with pytest.raises(ValueError, match=r"got shapes \(100, 33\), \(7,\)"):
        sj.tiled(lambda x, y: x)(X, X[:7, 0])
    with pytest.raises(ValueError, match="got shapes none"):
        sj.tiled(lambda: 0)()
    with pytest.raises(ValueError, match=r"got shapes \(0, 33\)"):
        sj.tiled(layer)(X[:0])
