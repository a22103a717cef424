"""Eigenvalues of covariance matrices, one for each sample."""

import torch

META = dict(
    framework="torch",
    form="batched",
    topic="eigenvalues of a batch",
    source="pytorch/pytorch#138530",
    title="When using batch or for loop, torch.linalg.eigvalsh gives a different result",
    url="https://github.com/pytorch/pytorch/issues/138530",
    relation="reduced from",
    expected="rounding",
    axes=["batch_size"],
    culprit_op="aten::bmm",
    culprit_kind="batched product",
    n=64,
)


def make_input(n):
    return torch.randn(n, 7, 40, generator=torch.Generator().manual_seed(670))


def fn(x):
    covariance = x @ x.mT / 40  # CULPRIT
    return torch.linalg.eigvalsh(covariance)
