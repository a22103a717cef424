"""Squared errors between predictions of shape (n, 1) and targets of shape (n,): every row is compared with every
target.
"""

import torch

META = dict(
    framework="torch",
    form="batched",
    topic="broadcast of predictions against targets",
    source="pytorch/pytorch#16045",
    title="Bug: fail to throw error when computing loss between tensors with shapes [n, 1] and [n]",
    url="https://github.com/pytorch/pytorch/issues/16045",
    relation="reduced from",
    expected="leak",
    axes=["batch_size", "cross_row"],
    culprit_op="sub, broadcast over rows",
    culprit_kind="broadcasting that mixes rows",
    leak_kind="broadcast target",
    n=64,
)

W = torch.linspace(-1, 1, 5)


def make_input(n):
    g = torch.Generator().manual_seed(501)
    return dict(x=torch.randn(n, 5, generator=g), target=torch.randn(n, generator=g))


def fn(batch):
    predicted = (batch["x"] * W).sum(1, keepdim=True)
    return (predicted - batch["target"]).square().mean(1)  # CULPRIT


def fixed(batch):
    predicted = (batch["x"] * W).sum(1)
    return (predicted - batch["target"]).square()
