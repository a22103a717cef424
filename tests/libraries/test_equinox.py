"""Equinox's layers, unmodified."""

import equinox as eqx
import equinox.internal as eqxi
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import samebits.jax as sj
from tests.jax.programs import bits, normal, row
from tests.libraries.compare import compare, gradients

KEY = jax.random.PRNGKey(0)
CAUSAL = jnp.tril(jnp.ones((9, 9), bool))
# Layers whose rows keep their bits under stock vmap on this machine: nothing to mend in them.
STOCK_HOLDS = {"norms", "dropout", "ensemble"}


def recurrent(cell, state):
    def f(sequence):
        return jax.lax.scan(lambda h, x: (cell(x, h), None), state, sequence)[0]

    return f, normal(8, 12, 4)


def mlp():
    return eqx.filter_jit(eqx.nn.MLP)(16, 8, 32, 2, key=KEY), normal(8, 16)


def gru():
    return recurrent(eqx.nn.GRUCell(4, 16, key=KEY), jnp.zeros(16))


def lstm():
    return recurrent(eqx.nn.LSTMCell(4, 16, key=KEY), (jnp.zeros(16), jnp.zeros(16)))


def attention():
    layer = eqx.nn.MultiheadAttention(4, 16, key=KEY)
    rotary = eqx.nn.RotaryPositionalEmbedding(16)
    return lambda x: layer(rotary(x), rotary(x), x, mask=CAUSAL), normal(8, 9, 16)


def norms():
    layers = eqx.nn.LayerNorm(16), eqx.nn.RMSNorm(16), eqx.nn.GroupNorm(4, 16)
    return lambda x: [layer(x) for layer in layers], normal(8, 16)


def dropout():
    layer = eqx.nn.Dropout(0.3)
    return lambda x_key: layer(x_key[0], key=x_key[1]), (normal(8, 16), jax.random.split(KEY, 8))


def convolutions():
    keys = jax.random.split(KEY, 3)
    net = eqx.nn.Sequential(
        [
            eqx.nn.Conv2d(3, 4, 3, key=keys[0]),
            eqx.nn.MaxPool2d(2, 2),
            eqx.nn.ConvTranspose2d(4, 4, 2, stride=2, key=keys[1]),
            eqx.nn.Lambda(jax.nn.relu),
            eqx.nn.AvgPool2d(2, 2),
            eqx.nn.Lambda(jnp.ravel),
            eqx.nn.Linear(36, 4, key=keys[2]),
        ]
    )
    return net, normal(8, 3, 8, 8)


def embedded_mlp_gradient():
    """The gradient of a model in all its weights, of an embedding among them (a scatter)."""
    model = eqx.nn.Embedding(20, 8, key=KEY), eqx.nn.MLP(8, "scalar", 16, 1, activation=jax.nn.gelu, key=KEY)
    weights, rest = eqx.partition(model, eqx.is_inexact_array)

    def loss(weights, tokens):
        embedding, head = eqx.combine(weights, rest)
        return jnp.sum(jax.vmap(lambda i: head(embedding(i)))(tokens) ** 2)

    return gradients(loss, weights), jax.random.randint(KEY, (8, 12), 0, 20)


def primitives():
    """Equinox's own primitives: a checkpoint, a converted closure, a conditional error, a callback, a loop's buffer."""
    net = eqx.nn.MLP(4, 4, 32, 1, key=KEY)

    def twice(x):
        return eqx.filter_pure_callback(lambda v: 2 * np.asarray(v), x, result_shape_dtypes=x, vmap_method="sequential")

    def loss(x):
        x = eqx.filter_closure_convert(net, x)(eqx.filter_checkpoint(net)(x))
        return eqxi.branched_error_if(jnp.sum(x**2), x[0] > 1e6, 0, ["too large"])

    def f(x):
        body = lambda carry: (carry[0] + 1, carry[1].at[carry[0]].set(net(x)[carry[0]]))  # noqa: E731
        loop = eqxi.while_loop(lambda c: c[0] < 3, body, (0, x), max_steps=4, buffers=lambda c: c[1], kind="bounded")
        return jax.value_and_grad(loss)(x), twice(net(x)), loop[1]

    return f, normal(8, 4)


def ensemble():
    """Models stacked by filter_vmap: a row is a model."""
    models = eqx.filter_jit(eqx.filter_vmap(lambda key: eqx.nn.MLP(16, 4, 32, 1, key=key)))(jax.random.split(KEY, 8))
    weights, rest = eqx.partition(models, eqx.is_array)
    x = normal(16)
    return lambda w: eqx.combine(w, rest)(x), weights


@pytest.mark.parametrize(
    "layer", [mlp, gru, lstm, attention, norms, dropout, convolutions, embedded_mlp_gradient, ensemble, primitives]
)
def test_rows_alone_are_rows_vmapped(layer):
    f, rows = layer()
    found = compare(lambda x: f(x), rows)
    assert found.invariant.drifted == []
    assert found.stock.drifted or layer.__name__ in STOCK_HOLDS
    found.assert_close()


def test_filtered_transformations():
    """filter_jit, filter_vmap, filter_value_and_grad around and inside; the model is an argument."""
    model, x = mlp()

    def loss(model, x):
        return jnp.mean(model(x) ** 2)

    step = eqx.filter_value_and_grad(sj.invariant(loss))
    many = eqx.filter_jit(eqx.filter_vmap(step, in_axes=(None, 0)))(model, x)
    inside = sj.invariant(lambda model, x: jax.tree_util.tree_leaves(eqx.filter_value_and_grad(loss)(model, x)))
    for i in (0, 7):
        alone = eqx.filter_jit(step)(model, x[i])
        assert bits(row(eqx.filter(many, eqx.is_array), i)) == bits(eqx.filter(alone, eqx.is_array))
        assert bits(inside(model, x[i])) == bits(alone)


def test_runtime_errors_still_come():
    """eqx.error_if is a callback and an effect: it fires under invariant() as without, and only where it should."""
    f = jax.jit(jax.vmap(sj.invariant(lambda x: eqx.error_if(x, x > 2, "too large") * 2)))
    assert f(jnp.ones(3)).tolist() == [2, 2, 2]
    with pytest.raises(Exception, match="too large"):
        jax.block_until_ready(f(jnp.arange(4.0)))
