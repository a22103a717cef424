"""An LSTM whose last rows, beyond a multiple of four, come out of another loop."""

import torch

META = dict(
    framework="torch",
    form="batched",
    topic="recurrent net",
    source="posit forum 35871",
    title="Keras prediction differs numerically for last n-4 instances",
    url="https://forum.posit.co/t/keras-prediction-differs-numerically-for-last-n-4-instances/35871",
    relation="inspired by",
    expected="rounding",
    axes=["batch_size", "batch_position"],
    culprit_op="aten::lstm",
    culprit_kind="gemv or gemm",
    n=64,
)

torch.manual_seed(681)
_lstm = torch.nn.LSTM(5, 24, batch_first=True)


def make_input(n):
    return torch.randn(n, 12, 5, generator=torch.Generator().manual_seed(680))


def fn(x):
    return _lstm(x)[1][0][0]  # CULPRIT
