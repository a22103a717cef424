"""Second looks: float64, nudges and the rigorous bound say rounding of rounding and leak of leaks."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import samebits
from samebits._audit._trial import Trial
from samebits._frontends import Call, NotTraceable
from samebits.jax import _bound
from samebits.jax._frontend import flat_call, frontend
from tests.audit import programs as p

W = p.normal(48, 48, seed=1)


def wide(fn, x):
    batch = frontend.flatten(x)
    return frontend.in_float64(fn, batch, "batch")(batch.leaves).leaves[0]


def witness(report, name):
    return [w for w in report.witnesses if w.name == name]


def axis(report, name):
    return next(a for a in report.axes if a.name == name)


# ---- a program in float64 ----


def through_jit(x):
    return jax.jit(lambda v: jnp.tanh(v @ W))(x)


def through_scan(x):
    return jax.lax.scan(lambda c, t: (jnp.sin(c) * t, c.sum()), x, jnp.linspace(0.5, 1, 5))[0]


def through_while(x):
    return jax.lax.while_loop(lambda s: s[0] < 4, lambda s: (s[0] + 1, s[1] * 0.3 + 1), (0, x))[1]


def through_bfloat16(x):
    return (x.astype(jnp.bfloat16) @ W.astype(jnp.bfloat16)).astype(jnp.float32)


def through_cond(x):
    return jax.lax.cond(x[0, 0] > 9, jnp.exp, lambda v: jnp.exp(-v), x)


def through_scatter(x):
    return x.at[:, 0].add(jax.nn.softmax(x)[:, 1])


def through_fft(x):
    return jnp.abs(jnp.fft.fft(x))


@pytest.mark.parametrize(
    "fn", [through_jit, through_scan, through_while, through_cond, through_scatter, through_fft, p.leak_custom_vjp]
)
def test_float64_is_what_jax_gives_with_wide_inputs(fn):
    x = p.normal(6, 48)
    with jax.enable_x64(True):
        want = np.asarray(fn(jnp.asarray(np.asarray(x), jnp.float64)))
    got = wide(fn, x)
    assert got.dtype == np.float64
    np.testing.assert_allclose(got, want, rtol=1e-6)  # the program's own float32 constants are not those of float64


def test_bfloat16_inside_does_not_round():
    x, w = p.normal(6, 48), np.asarray(W, np.float64)
    np.testing.assert_allclose(wide(through_bfloat16, x), np.asarray(x, np.float64) @ w, rtol=1e-12)


def test_noise_stays_the_same_noise():
    batch = {"key": jax.random.split(jax.random.key(3), 5), "x": p.normal(5, 4)}
    fn = jax.vmap(lambda d: d["x"] + jax.random.normal(d["key"], (4,)))
    np.testing.assert_allclose(wide(fn, batch), np.asarray(fn(batch)), rtol=1e-4, atol=1e-6)


def test_code_for_one_dtype_has_no_float64_form():
    def fn(x):
        return jax.pure_callback(lambda a: np.asarray(a) * 2, jax.ShapeDtypeStruct(x.shape, x.dtype), x)

    with pytest.raises(NotTraceable, match="pure_callback has one dtype only"):
        wide(fn, p.normal(4, 2))
    assert samebits.audit(fn, p.normal(8, 2), sizes=(1,)).verdict == "holds"


# ---- what they say ----


def drifts_by_order(x):
    """A sum in another order at each size: rounding on any machine, cancelled until it is large."""
    n = x.shape[0]
    parts = jnp.split(x * 1e4, [1 + n % 5, 20 + n % 7], axis=1)
    return sum(v.sum(axis=1) for v in parts) - 1e4 * x.sum(axis=1)


def test_float64_clears_rounding_above_the_limit():
    report = samebits.audit(drifts_by_order, p.normal(64, 48), sizes=(1, 2, 3, 7), axes=("size",))
    assert report.verdict == "amplified"
    assert "in float64" in axis(report, "batch size").reason
    assert witness(report, "float64")[0].says == "rounding"


def tiny_leak_by_size(x):
    return x * 1.5 + 1e-6 * x.shape[0] / 64 * jnp.abs(x).max(axis=1, keepdims=True)


def test_a_leak_below_the_limit_stays_in_float64():
    report = samebits.audit(tiny_leak_by_size, p.normal(64, 48), sizes=(1, 7), axes=("size",))
    assert report.verdict == "leak"
    assert axis(report, "batch size").reason.count("small, but not rounding") == 1
    assert {w.says for w in report.witnesses} == {"leak"}
    asked = samebits.audit(tiny_leak_by_size, p.normal(64, 48), sizes=(1, 7), axes=("size",), limit=1e-5)
    assert asked.verdict == "rounding"  # by the caller's word


def test_a_leak_by_content_has_its_witness():
    report = samebits.audit(p.leak_plain, p.normal(12, 5), sizes=(3,))
    content = {m.label for m in axis(report, "content").measurements}
    assert {w.says for w in witness(report, "float64") if w.experiment.split(", both")[0] in content} == {"leak"}


def test_chaos_that_stays_in_float64_is_no_leak():
    def fn(x):
        v = jnp.abs(jnp.sin(x)) * (1 + 1e-7 * (x.shape[0] % 2))  # what stands for a rounding error by size
        return jax.lax.fori_loop(0, 200, lambda _, u: 3.95 * u * (1 - u), v * 0.99)

    report = samebits.audit(fn, p.normal(16, 8), sizes=(1,), axes=("size",))
    assert report.verdict == "amplified"
    assert any(w.says == "rounding" for w in witness(report, "nudges"))


# ---- the rigorous bound ----


def two(fn, x, n, m):
    """The first n rows alone and in a batch of m: the bound where they part, or None where they do not."""
    leaves = (np.asarray(x),)
    calls = (Call((leaves[0][:n],), np.arange(n)), Call((leaves[0][:m],), np.arange(n)))
    batch = frontend.flatten(x)
    return _bound.bound(flat_call(fn, batch, "alone"), False, *calls)


@pytest.mark.parametrize("sizes", [(1, 64), (7, 64), (1, 3), (3, 33)])
def test_two_orders_of_one_dot_lie_within_the_bound(sizes):
    x = p.normal(64, 512)
    weights = p.normal(512, 40, seed=2)
    found = two(lambda v: v @ weights, x, *sizes)
    if found is None:
        pytest.skip("these sizes have the same bits on this machine")
    assert (found.operation, found.terms) == ("dot_general", 512)
    assert 0 < found.ratio <= 1
    assert found.difference <= found.bound


def test_the_bound_is_a_witness_and_counts_terms():
    x = p.normal(64, 512)
    report = samebits.audit(lambda v: v @ p.normal(512, 40, seed=2), x, sizes=(1,), axes=("size",))
    if report.verdict == "holds":
        pytest.skip("no drift on this machine")
    (found,) = witness(report, "bound")
    assert found.says == "rounding"
    assert "n = 512" in found.experiment


def test_what_is_no_sum_has_no_bound():
    assert two(lambda v: v * v.shape[0], p.normal(8, 3), 2, 8) is None


def test_nudges_move_weights_where_a_batch_holds_tokens():
    table = p.normal(9, 4)
    batch = frontend.flatten(jnp.arange(6) % 9)
    trial = Trial(lambda t: table[t], batch, frontend, False)
    out = trial.with_constants(batch.leaves, lambda a: a * 2).leaves[0]
    np.testing.assert_array_equal(out, 2 * np.asarray(table)[np.arange(6)])


def test_measurements_hold_the_rows_that_differ_first():
    x = p.normal(300, 3)
    report = samebits.audit(lambda v: v.at[-1].set(v[0]), x, sizes=(7,), axes=("position",))
    last = axis(report, "position").measurements[-1]
    assert (last.size, last.compared, len(last.rows)) == (300, 300, 256)
    assert last.differing >= 1
    assert all(s > 0 for s in last.scaled[: last.differing])
    assert not any(last.scaled[last.differing :])
