"""Softmax over the first entries of each row, the others filled with the lowest number."""

import torch

META = dict(
    framework="torch",
    form="batched",
    topic="masked softmax",
    source="pytorch/pytorch#115417",
    title="Masked Softmax produces differing softmax weights depending on the amount of masking on some architectures",
    url="https://github.com/pytorch/pytorch/issues/115417",
    relation="reduced from",
    expected="rounding",
    axes=["batch_size"],
    culprit_op="aten::softmax",
    culprit_kind="vector loop",
    n=64,
)


def make_input(n):
    g = torch.Generator().manual_seed(650)
    return dict(x=torch.randn(n, 37, generator=g), length=torch.randint(1, 38, (n,), generator=g))


def fn(batch):
    low = torch.finfo(torch.float32).min
    filled = batch["x"].masked_fill(torch.arange(37) >= batch["length"][:, None], low)
    return torch.softmax(filled, 1)  # CULPRIT
