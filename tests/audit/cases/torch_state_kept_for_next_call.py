"""A recurrent cell keeps its state for the next call if the batch has the same size."""

import torch

META = dict(
    framework="torch",
    form="batched",
    topic="recurrent state kept between calls",
    source="ikostrikov/pytorch-a2c-ppo-acktr-gail#206",
    title="Recurrent states not reset between episode boundaries",
    url="https://github.com/ikostrikov/pytorch-a2c-ppo-acktr-gail/issues/206",
    relation="inspired by",
    expected="nondeterministic",
    axes=["repeat"],
    culprit_op="state kept in a module",
    culprit_kind="state between calls",
    leak_kind="recurrent state",
    n=64,
)

W = torch.randn(4, 4, generator=torch.Generator().manual_seed(521)) / 3
_kept = {}


def make_input(n):
    return torch.randn(n, 4, generator=torch.Generator().manual_seed(520))


def fn(x):
    state = _kept.get(len(x), torch.zeros_like(x))
    state = torch.tanh(x + (state[:, :, None] * W).sum(1))  # CULPRIT
    _kept[len(x)] = state
    return state


def fixed(x):
    return torch.tanh(x)
