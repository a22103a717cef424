"""A reservoir with a spectral radius far above one: two hundred steps make anything of the last bit."""

import torch

META = dict(
    framework="torch",
    form="batched",
    topic="chaotic recurrent net",
    source="jax-ml/jax#31919",
    title="Results between vmapped function and jax.lax.map of vmapped function differ significantly ...",
    url="https://github.com/jax-ml/jax/issues/31919",
    relation="inspired by",
    expected="rounding",
    axes=["batch_size"],
    culprit_op="aten::mm",
    culprit_kind="gemv or gemm, amplified by chaos",
    n=64,
    amplified=True,
)

W = torch.randn(40, 40, generator=torch.Generator().manual_seed(721)) * 0.5


def make_input(n):
    return torch.randn(n, 40, generator=torch.Generator().manual_seed(720))


def fn(h):
    for _ in range(200):
        h = torch.tanh(h @ W)  # CULPRIT
    return h
