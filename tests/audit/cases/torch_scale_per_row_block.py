"""Eight rows at a time share the scale of their int8 quantisation: only the neighbours of the same block matter."""

import torch

META = dict(
    framework="torch",
    form="batched",
    topic="quantisation scale shared by a block of rows",
    source="vllm-project/compressed-tensors#393",
    title="[Bugfix] Fix Per-Token Dynamic Activation Quantization",
    url="https://github.com/vllm-project/compressed-tensors/pull/393",
    relation="reduced from",
    expected="leak",
    axes=["batch_size", "batch_position", "cross_row"],
    culprit_op="amax over a block of rows",
    culprit_kind="maximum over batch",
    leak_kind="quantisation by blocks",
    n=64,
)


def make_input(n):
    return torch.randn(n, 10, generator=torch.Generator().manual_seed(570))


def fn(x):
    blocks = torch.nn.functional.pad(x, (0, 0, 0, -len(x) % 8)).reshape(-1, 8, 10)
    scale = blocks.abs().amax((1, 2), keepdim=True) / 127  # CULPRIT
    return ((blocks / scale).round() * scale).reshape(-1, 10)[: len(x)]


def fixed(x):
    scale = x.abs().amax(1, keepdim=True) / 127
    return (x / scale).round() * scale
