"""A block with a depthwise convolution, layer normalisation and a pointwise layer."""

import torch

META = dict(
    framework="torch",
    form="batched",
    topic="convolutional block",
    source="huggingface/pytorch-image-models#2244",
    title="convnext_tiny model produces outputs that are dependent on the batch size",
    url="https://github.com/huggingface/pytorch-image-models/issues/2244",
    relation="reduced from",
    expected="rounding",
    axes=["batch_size"],
    culprit_op="aten::conv2d or aten::addmm",
    culprit_kind="algorithm by shape",
    n=64,
)

torch.manual_seed(641)
_norm, _point = torch.nn.LayerNorm(24), torch.nn.Linear(24, 48)


def make_input(n):
    return torch.randn(n, 24, 6, 6, generator=torch.Generator().manual_seed(640))


def fn(x):
    h = _norm(x.amax((2, 3)))
    return torch.nn.functional.gelu(_point(h))  # CULPRIT
