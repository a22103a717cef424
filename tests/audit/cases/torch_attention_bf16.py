"""Attention in bfloat16, all heads at once."""

import torch

META = dict(
    framework="torch",
    form="batched",
    topic="attention in bfloat16",
    source="pytorch/pytorch#125534",
    title="Different results between normal batching and vmap while using lower precision (e.g., bfloat16)",
    url="https://github.com/pytorch/pytorch/issues/125534",
    relation="inspired by",
    expected="rounding",
    axes=["batch_size", "precision"],
    culprit_op="aten::linear",
    culprit_kind="kernel chosen by shape",
    n=64,
)

W = (torch.randn(96, 32, generator=torch.Generator().manual_seed(661)) / 6).bfloat16()


def make_input(n):
    return torch.randn(n, 9, 32, generator=torch.Generator().manual_seed(660)).bfloat16()


def fn(x):
    q, k, v = torch.nn.functional.linear(x, W).unflatten(2, (3, 4, 8)).permute(2, 0, 3, 1, 4)  # CULPRIT
    return torch.nn.functional.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2)
