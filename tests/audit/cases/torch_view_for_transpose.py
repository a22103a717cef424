"""Recurrent states of shape (layers, n, d) are laid side by side with view instead of a transpose: rows take halves
of other rows.
"""

import torch

META = dict(
    framework="torch",
    form="batched",
    topic="view instead of transpose",
    source="timbmg/Sentence-VAE#15",
    title="Confusion about the batch in model.py (I think batch should be the second dimension)",
    url="https://github.com/timbmg/Sentence-VAE/issues/15",
    relation="reduced from",
    expected="leak",
    axes=["batch_size", "batch_position", "cross_row"],
    culprit_op="view across rows",
    culprit_kind="reshape that mixes rows",
    leak_kind="view instead of transpose",
    n=64,
)

SCALES = torch.tensor([1.0, -0.5])


def make_input(n):
    return torch.randn(n, 5, generator=torch.Generator().manual_seed(610))


def _states(x):
    return torch.tanh(x * SCALES[:, None, None])


def fn(x):
    hidden = _states(x)
    return hidden.view(len(x), -1) * 2  # CULPRIT


def fixed(x):
    return _states(x).transpose(0, 1).reshape(len(x), -1) * 2
