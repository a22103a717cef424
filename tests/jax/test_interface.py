"""Arguments, caching, refusals, platforms: how invariant() behaves as a function."""

import functools
from typing import Any, cast

import equinox as eqx
import jax
import jax.extend.core as jex
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import samebits
import samebits.jax as sj
from tests.jax.programs import bits, network, normal


def test_signature_and_keywords_are_kept():
    def f(x, *, scale=2.0):
        """Doc."""
        return {"out": x * scale}

    g = sj.invariant(f)
    assert (g.__name__, g.__doc__) == ("f", "Doc.")
    assert float(g(jnp.float32(3))["out"]) == 6.0
    assert float(g(jnp.float32(3), scale=3.0)["out"]) == 9.0


def test_a_model_with_functions_inside_is_an_argument():
    net = eqx.nn.MLP(3, 2, 8, 1, key=jax.random.PRNGKey(0))
    f = sj.invariant(lambda net, x: net(x))
    x = normal(3)
    assert bits(f(net, x)) == bits(sj.invariant(net)(x))
    grads = eqx.filter_grad(lambda net: f(net, x).sum())(net)
    assert np.all(np.isfinite(grads.layers[0].weight))


def test_a_static_leaf_must_be_hashable():
    class Odd:
        def __eq__(self, other):
            return True

    with pytest.raises(TypeError, match="neither an array nor hashable"):
        sj.invariant(lambda o, x: x)(Odd(), 1.0)


@pytest.mark.parametrize(("call", "error"), [
    (lambda: sj.invariant(cast(Any, 3)), "takes a function"),
    (lambda: sj.invariant(jnp.sin, level=cast(Any, "exact")), "must be one of batch, portable"),
])  # fmt: skip
def test_wrong_arguments_say_what(call, error):
    with pytest.raises((TypeError, ValueError), match=error):
        call()


def test_a_second_call_traces_nothing():
    traced = []

    def f(x, act):
        traced.append(x.shape)
        return act(x)

    g = sj.invariant(f)
    for _ in range(3):
        g(normal(4), jnp.tanh)
        jax.jit(lambda x: g(x, jnp.tanh))(normal(4))
    assert traced == [(4,)] * len(traced)
    assert len(traced) <= 2
    before = len(traced)
    g(normal(4), jnp.tanh)
    assert len(traced) == before
    g(normal(5), jnp.tanh)
    g(normal(4), jnp.sin)
    assert len(traced) == before + 2


def test_closed_over_tracers():
    def outer(w, x):
        return sj.invariant(lambda x: jnp.tanh(x @ w))(x).sum()

    w, x = normal(5, 3), normal(4, 5)
    a = jax.jit(jax.vmap(jax.grad(outer), (None, 0)))(w, x)
    b = jax.jit(jax.grad(outer))(w, x[2])
    assert bits(a[2]) == bits(b)


def test_weak_types_and_python_numbers():
    f = sj.invariant(lambda x, n: x * n + 1)
    assert f(jnp.bfloat16(2), 3).dtype == jnp.bfloat16
    assert f(2, 3).dtype == jnp.int32
    assert f(np.float32(2), 3.5).dtype == jnp.float32


def test_key_arrays_pass():
    f = sj.invariant(lambda key: jax.random.bits(key, (3,)))
    key = jax.random.key(3)
    assert bits(f(key)) == bits(jax.random.bits(key, (3,)))


def test_outputs_that_are_inputs_constants_or_shared():
    f = sj.invariant(lambda x: (x, jnp.float32(3), x + 1, x + 1, x.T, 2, None))
    out = f(normal(2, 3))
    assert len(out) == 7
    assert out[-1] is None
    assert out[4].shape == (3, 2)
    np.testing.assert_array_equal(out[4], normal(2, 3).T)


REFUSED = {
    "convolution": lambda x: lax.conv(x[0] * jnp.ones((1, 1, 2, 2, 2, 2)), x[0] * jnp.ones((1, 1, 2, 2, 2, 2)),
                                      (1, 1, 1, 1), "SAME"),
    "hidden state": lambda x: lax.rng_uniform(x.sum(), x.max(), (3,)),
    "stranger": lambda x: _stranger.bind(x),
    "namesake": lambda x: _namesake.bind(x),
}  # fmt: skip
_stranger = jex.Primitive("stranger")
_namesake = jex.Primitive("add")
for _p in (_stranger, _namesake):
    _p.def_abstract_eval(lambda x: x)


@pytest.mark.parametrize("name", REFUSED)
def test_what_has_no_rule_is_refused_before_anything_runs(name):
    ran = []

    def f(x):
        jax.debug.callback(lambda v: ran.append(v), x)
        return REFUSED[name](x * 2)

    with pytest.raises(samebits.UncoveredOperation) as refusal:
        sj.invariant(f)(normal(9))
    jax.effects_barrier()
    assert not ran
    assert __file__ in str(refusal.value)
    assert "way out:" in str(refusal.value)
    assert isinstance(refusal.value, NotImplementedError)
    assert refusal.value.primitive


def test_a_refusal_inside_control_flow():
    def f(x):
        return lax.scan(lambda c, a: (c, lax.rng_uniform(a, a, ())), 0, x)[1]

    with pytest.raises(samebits.UncoveredOperation, match="rng_uniform"):
        sj.invariant(f)(normal(3))
    with pytest.raises(samebits.UncoveredOperation, match="rng_uniform"):
        sj.invariant(lambda x: lax.cond(x > 0, lambda a: lax.rng_uniform(a, a, ()), jnp.sin, x))(1.0)


def test_batch_level_is_refused_where_portable_is_asked():
    f = lambda x: jnp.linalg.cholesky(x @ x.T + 9 * jnp.eye(3))  # noqa: E731
    with pytest.raises(samebits.UncoveredOperation, match="batch level"):
        sj.invariant(f, level="portable")(normal(3, 3))
    x = normal(7, 3, 3)
    many = jax.jit(jax.vmap(sj.invariant(f)))(x)
    assert all(bits(many[i]) == bits(sj.invariant(f)(x[i])) for i in range(7))


@pytest.mark.parametrize("platform", ["cuda", "tpu"])
def test_other_platforms_are_one_named_error(platform):
    traced = jax.jit(sj.invariant(network)).trace(normal(33))
    with pytest.raises(sj.UnsupportedPlatform, match="kernels for CPUs only"):
        traced.lower(lowering_platforms=(platform,))


def test_effects_and_callbacks_run_once_in_order():
    seen = []

    def f(x):
        jax.debug.callback(lambda v: seen.append(float(v)), x[0] * 2, ordered=True)
        y = jnp.tanh(x)
        jax.debug.callback(lambda v: seen.append(float(v)), y[0] * 0 + 5, ordered=True)
        z = jax.pure_callback(lambda v: np.asarray(v) + np.float32(1), jax.ShapeDtypeStruct((3,), np.float32), y)
        return z * 2

    out = sj.invariant(f)(jnp.ones(3))
    jax.effects_barrier()
    assert seen == [2.0, 5.0]
    np.testing.assert_allclose(out, (np.tanh(1) + 1) * 2, rtol=1e-6)


def test_donation_and_static_arguments():
    g = jax.jit(sj.invariant(functools.partial(lambda n, x: x * n, 3)), donate_argnums=0)
    np.testing.assert_array_equal(g(jnp.arange(4.0)), np.arange(4.0) * 3)
    h = jax.jit(sj.invariant(lambda x, n: jnp.tanh(x) * n), static_argnums=1)
    assert bits(h(normal(3), 2)) == bits(sj.invariant(lambda x: jnp.tanh(x) * 2)(normal(3)))


def test_export_and_back():
    f = jax.jit(sj.invariant(network))
    ours = jax.export.DisabledSafetyCheck.custom_call("samebits_program")
    exported = jax.export.export(f, disabled_checks=[ours])(normal(33))
    again = jax.export.deserialize(exported.serialize())
    assert bits(again.call(normal(33))) == bits(f(normal(33)))
