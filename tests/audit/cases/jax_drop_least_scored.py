"""Each expert keeps its best-scored tokens, up to a capacity; the others skip it. Who is dropped depends on who else
came.
"""

import jax
import jax.numpy as jnp
import numpy as np

META = dict(
    framework="jax",
    form="batched",
    topic="token dropping by score",
    source="deepseek-ai/DeepSeek-V2#48",
    title="Drop Token",
    url="https://github.com/deepseek-ai/DeepSeek-V2/issues/48",
    relation="reduced from",
    expected="leak",
    axes=["batch_size", "cross_row"],
    culprit_op="comparison of all pairs of rows",
    culprit_kind="rank within the batch",
    leak_kind="expert capacity by rank",
    n=64,
)

_g = np.random.default_rng(231)
ROUTER = jnp.asarray(_g.normal(size=(6, 3)), jnp.float32)
SCALE = jnp.asarray(_g.normal(size=(3, 6)), jnp.float32)


def make_input(n):
    return jnp.asarray(np.random.default_rng(230).normal(size=(n, 6)), jnp.float32)


def _route(x):
    p = jax.nn.softmax(jnp.sum(x[:, :, None] * ROUTER, axis=1), axis=1)
    return p.max(axis=1), p.argmax(axis=1)


def fn(x):
    score, expert = _route(x)
    better = (score[None, :] > score[:, None]) & (expert[None, :] == expert[:, None])  # CULPRIT
    kept = better.sum(axis=1) < max(1, len(x) // 4)
    return jnp.where(kept[:, None], x * SCALE[expert], x)


def fixed(x):
    return x * SCALE[_route(x)[1]]
