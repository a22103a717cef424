"""The mask of a padded batch is kept by shape: a later batch of the same shape is masked with the lengths of the
first.
"""

import torch

META = dict(
    framework="torch",
    form="batched",
    topic="cache keyed by shape",
    source="tenstorrent/tt-inference-server#4557",
    title="Always Set Kv Position on Cache Hit Path",
    url="https://github.com/tenstorrent/tt-inference-server/pull/4557",
    relation="inspired by",
    expected="leak",
    axes=["batch_position", "repeat"],
    culprit_op="mask from a cache",
    culprit_kind="stale cache",
    leak_kind="cache by shape",
    n=64,
)

_masks = {}


def make_input(n):
    g = torch.Generator().manual_seed(530)
    return dict(x=torch.randn(n, 9, generator=g), length=torch.randint(1, 10, (n,), generator=g))


def _mask(length):
    return torch.arange(9) < length[:, None]


def fn(batch):
    shape = tuple(batch["x"].shape)
    if shape not in _masks:
        _masks[shape] = _mask(batch["length"])
    return torch.where(_masks[shape], batch["x"], 0.0).sum(1)  # CULPRIT


def fixed(batch):
    return torch.where(_mask(batch["length"]), batch["x"], 0.0).sum(1)
