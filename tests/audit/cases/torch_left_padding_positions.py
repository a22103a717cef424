"""Prompts padded on the left to the longest of the batch; positions count the padding too."""

import torch

META = dict(
    framework="torch",
    form="batched",
    topic="positions of left-padded prompts",
    source="unslothai/unsloth#3699",
    title="Batched generation with left-padding produces incorrect output",
    url="https://github.com/unslothai/unsloth/issues/3699",
    relation="reduced from",
    expected="leak",
    axes=["padding", "batch_size", "cross_row"],
    culprit_op="maximum of the lengths",
    culprit_kind="maximum over batch",
    leak_kind="padding: positions",
    n=64,
)

E = torch.randn(40, 6, generator=torch.Generator().manual_seed(551))


def make_input(n):
    g = torch.Generator().manual_seed(550)
    return dict(tokens=torch.randint(0, 40, (n, 12), generator=g), length=torch.randint(1, 13, (n,), generator=g))


def _summary(batch, first):
    place = torch.arange(12)[None] + first[:, None]
    seen = torch.arange(12) < batch["length"][:, None]
    turned = E[batch["tokens"]] * torch.cos(0.3 * place)[:, :, None]
    return (turned * seen[:, :, None]).sum(1)


def fn(batch):
    padding = batch["length"].max() - batch["length"]  # CULPRIT
    return _summary(batch, padding)


def fixed(batch):
    return _summary(batch, torch.zeros_like(batch["length"]))
