"""Sums of the embeddings of each row's items."""

import torch

META = dict(
    framework="torch",
    form="batched",
    topic="embedding bags",
    source="rusty1s/pytorch_scatter#226",
    title="Can Scatter Be Reproducible?",
    url="https://github.com/rusty1s/pytorch_scatter/issues/226",
    relation="inspired by",
    expected="rounding",
    axes=["batch_size"],
    culprit_op="aten::embedding_bag",
    culprit_kind="order of a sum",
    n=64,
)

E = torch.randn(50, 20, generator=torch.Generator().manual_seed(701))


def make_input(n):
    return torch.randint(0, 50, (n, 11), generator=torch.Generator().manual_seed(700))


def fn(items):
    return torch.nn.functional.embedding_bag(items, E, mode="sum")  # CULPRIT
