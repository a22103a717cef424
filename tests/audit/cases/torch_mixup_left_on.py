"""Mixing with the flipped batch, a training augmentation, left on: rows are blended with the one across."""

import torch

META = dict(
    framework="torch",
    form="batched",
    topic="augmentation over the batch left on",
    source="pytorch/vision#4379",
    title="Adding Mixup and Cutmix",
    url="https://github.com/pytorch/vision/pull/4379",
    relation="inspired by",
    expected="leak",
    axes=["batch_size", "batch_position", "cross_row"],
    culprit_op="flip of rows",
    culprit_kind="rows blended",
    leak_kind="mixup",
    n=64,
)


def make_input(n):
    return torch.randn(n, 7, generator=torch.Generator().manual_seed(590))


def fn(x):
    h = 0.9 * x + 0.1 * x.flip(0)  # CULPRIT
    return torch.relu(h)


def fixed(x):
    return torch.relu(x)
