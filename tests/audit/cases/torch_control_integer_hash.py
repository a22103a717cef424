"""Control: identifiers mixed by integer products, shifts and exclusive or."""

import torch

META = dict(
    framework="torch",
    form="batched",
    topic="control: integer hash",
    source="tensorflow/tensorflow#1299",
    title="Convolution produces wrong result depending on the batch size (healthy twin)",
    url="https://github.com/tensorflow/tensorflow/issues/1299",
    relation="control",
    expected="invariant",
    axes=[],
    culprit_op="none",
    culprit_kind="none",
    n=64,
)


def make_input(n):
    return torch.randint(0, 2**40, (n, 5), generator=torch.Generator().manual_seed(730))


def fn(x):
    h = torch.zeros(len(x), dtype=torch.int64)
    for column in x.unbind(1):
        h = (h ^ column) * 0x27D4EB2F165667C5
        h = h ^ (h >> 29)
    return h % 1009, h > 0
