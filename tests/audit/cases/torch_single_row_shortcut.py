"""A batch of one goes another way and loses the calibration of its scores."""

import torch

META = dict(
    framework="torch",
    form="batched",
    topic="special path for one row",
    source="uxlfoundation/scikit-learn-intelex#1880",
    title="Wrong predictions for single-processing sparse-matrix input to SVC",
    url="https://github.com/uxlfoundation/scikit-learn-intelex/issues/1880",
    relation="reduced from",
    expected="leak",
    axes=["batch_size"],
    culprit_op="branch on the batch size",
    culprit_kind="batch size in control flow",
    leak_kind="special path for one row",
    n=64,
)

W = torch.linspace(-1, 1, 6)


def make_input(n):
    return torch.randn(n, 6, generator=torch.Generator().manual_seed(620))


def fn(x):
    margin = (x * W).sum(1)
    if len(x) == 1:
        return torch.full_like(margin, 0.5)  # CULPRIT
    return torch.sigmoid(2 * margin + 0.1)


def fixed(x):
    return torch.sigmoid(2 * (x * W).sum(1) + 0.1)
