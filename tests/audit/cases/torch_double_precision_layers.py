"""Two dense layers in double precision."""

import torch

META = dict(
    framework="torch",
    form="batched",
    topic="dense layers in double precision",
    source="pytorch forum 129285",
    title="Why the output is different when batching?",
    url="https://discuss.pytorch.org/t/why-the-output-is-different-when-batching/129285",
    relation="reduced from",
    expected="rounding",
    axes=["batch_size"],
    culprit_op="aten::addmm",
    culprit_kind="gemv or gemm",
    n=64,
)

torch.manual_seed(631)
_first, _second = torch.nn.Linear(120, 90).double(), torch.nn.Linear(90, 30).double()


def make_input(n):
    return torch.rand(n, 120, generator=torch.Generator().manual_seed(630), dtype=torch.float64)


def fn(x):
    h = torch.relu(_first(x))  # CULPRIT
    return torch.relu(_second(h))
