"""Greedy decoding with two nearly equal heads: a flipped argmax changes all that follows."""

import jax
import jax.numpy as jnp
import numpy as np

META = dict(
    framework="jax",
    form="single",
    topic="greedy decoding near ties",
    source="vllm-project/vllm#5898",
    title="Inconsistent Responses with VLLM When Batch Size > 1 even temperature = 0",
    url="https://github.com/vllm-project/vllm/issues/5898",
    relation="inspired by",
    expected="rounding",
    axes=["vmap", "batch_size"],
    culprit_op="dot_general",
    culprit_kind="gemv or gemm, amplified by an argmax",
    n=64,
    amplified=True,
)

_g = np.random.default_rng(421)
_e = _g.normal(size=(20, 48))
EMBED = jnp.asarray(_g.normal(size=(40, 48)), jnp.float32)
HEAD = jnp.asarray(np.concatenate([_e, _e * (1 + 1e-7)]).T, jnp.float32)


def make_input(n):
    return jnp.asarray(np.random.default_rng(420).normal(size=(n, 48)), jnp.float32)


def single(state):
    def step(h, _):
        token = jnp.argmax(h @ HEAD)  # CULPRIT
        return jnp.tanh(0.6 * h + EMBED[token]), token

    return jax.lax.scan(step, state, None, length=12)[1]
