"""Non-maximum suppression over the boxes of all pictures: a box of one picture puts out one of another."""

import torch

META = dict(
    framework="torch",
    form="batched",
    topic="suppression across pictures",
    source="jkjung-avt/tensorrt_demos#591",
    title="Batch Processed Image Inference",
    url="https://github.com/jkjung-avt/tensorrt_demos/issues/591",
    relation="reduced from",
    expected="leak",
    axes=["batch_size", "cross_row"],
    culprit_op="overlap of boxes of all rows",
    culprit_kind="comparison across rows",
    leak_kind="non-maximum suppression",
    n=64,
)


def make_input(n):
    g = torch.Generator().manual_seed(580)
    low = torch.rand(n, 3, 2, generator=g)
    return dict(box=torch.cat([low, low + 0.25], 2), score=torch.rand(n, 3, generator=g))


def _kept(box, score):
    low = torch.maximum(box[..., :, None, :2], box[..., None, :, :2])
    high = torch.minimum(box[..., :, None, 2:], box[..., None, :, 2:])
    overlap = (high - low).clamp(min=0).prod(-1) > 0.03
    return ~(overlap & (score[..., None, :] > score[..., :, None])).any(-1)


def fn(x):
    every, score = x["box"].flatten(0, 1), x["score"].flatten()
    return _kept(every, score).reshape(-1, 3)  # CULPRIT


def fixed(x):
    return _kept(x["box"], x["score"])
