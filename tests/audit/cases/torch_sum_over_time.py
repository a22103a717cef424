"""Sums of large, nearly equal readings over time, the middle axis."""

import torch

META = dict(
    framework="torch",
    form="batched",
    topic="sum along a strided axis",
    source="numpy/numpy#13734",
    title="sum result different when slicing before sum",
    url="https://github.com/numpy/numpy/issues/13734",
    relation="inspired by",
    expected="rounding",
    axes=["batch_size"],
    culprit_op="aten::sum",
    culprit_kind="order of a reduction",
    n=64,
)


def make_input(n):
    return torch.rand(n, 300, 3, generator=torch.Generator().manual_seed(690)) * 7 + 100


def fn(x):
    total = x.sum(1)  # CULPRIT
    return total - 300 * 103.5
