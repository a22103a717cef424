"""A normaliser of observations goes on learning its mean from the batches it is asked about."""

import torch

META = dict(
    framework="torch",
    form="batched",
    topic="running statistics updated in forward",
    source="Farama-Foundation/Gymnasium#256",
    title="[Proposal] NormalizeX Wrappers should not always update their running statistics",
    url="https://github.com/Farama-Foundation/Gymnasium/issues/256",
    relation="inspired by",
    expected="nondeterministic",
    axes=["repeat", "batch_size", "cross_row"],
    culprit_op="in-place update of a buffer",
    culprit_kind="state between calls",
    leak_kind="buffer updated in forward",
    n=64,
)


class Normaliser(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.mean = torch.nn.Buffer(torch.zeros(6))
        self.count = 1

    def forward(self, x, learn=True):
        if learn:
            self.count += len(x)
            self.mean += (x - self.mean).sum(0) / self.count  # CULPRIT
        return x - self.mean


_normaliser = Normaliser().eval()


def make_input(n):
    return torch.randn(n, 6, generator=torch.Generator().manual_seed(510)) + 2


def fn(x):
    return _normaliser(x)


def fixed(x):
    return _normaliser(x, learn=False)
