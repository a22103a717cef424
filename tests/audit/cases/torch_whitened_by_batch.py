"""Features scaled at prediction with a scaler fitted to the batch at hand."""

import torch

META = dict(
    framework="torch",
    form="batched",
    topic="scaler fitted to the batch",
    source="cure-lab/LTSF-Linear#21",
    title="Question about using StandardScaler().fit_transform() on Prediction phase",
    url="https://github.com/cure-lab/LTSF-Linear/issues/21",
    relation="reduced from",
    expected="leak",
    axes=["batch_size", "cross_row"],
    culprit_op="std_mean over rows",
    culprit_kind="reduction over batch",
    leak_kind="scaler fitted to the batch",
    n=64,
)


def make_input(n):
    return torch.randn(n, 6, generator=torch.Generator().manual_seed(600)) * torch.arange(1.0, 7.0) + 3


def fn(x):
    spread, centre = torch.std_mean(x, 0, correction=0)  # CULPRIT
    return (x - centre) / (spread + 1e-3)


def fixed(x):
    return (x - 3) / torch.arange(1.0, 7.0)
