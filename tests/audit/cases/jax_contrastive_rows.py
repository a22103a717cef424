"""Loss of each query against its own document, with the other documents of the batch as negatives."""

import jax.numpy as jnp
import numpy as np

META = dict(
    framework="jax",
    form="batched",
    topic="in-batch negatives",
    source="huggingface/sentence-transformers#1210",
    title="concern about code examples in CT_In-Batch_Negatives",
    url="https://github.com/huggingface/sentence-transformers/issues/1210",
    relation="inspired by",
    expected="leak",
    axes=["batch_size", "cross_row"],
    culprit_op="dot_general over rows",
    culprit_kind="similarity with every row",
    leak_kind="in-batch negatives",
    n=64,
)

_bank = jnp.asarray(np.random.default_rng(201).normal(size=(20, 12)), jnp.float32)


def make_input(n):
    g = np.random.default_rng(200)
    q = g.normal(size=(n, 12))
    return dict(query=jnp.asarray(q, jnp.float32), document=jnp.asarray(q + g.normal(size=(n, 12)), jnp.float32))


def fn(x):
    scores = x["query"] @ x["document"].T  # CULPRIT
    own = jnp.sum(x["query"] * x["document"], axis=1)
    return jnp.log(jnp.sum(jnp.exp(scores), axis=1)) - own


def fixed(x):
    own = jnp.sum(x["query"] * x["document"], axis=1)
    others = jnp.sum(jnp.exp(x["query"] @ _bank.T), axis=1)
    return jnp.log(jnp.exp(own) + others) - own
