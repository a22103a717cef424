"""Control: running totals along each row (look-alike of a leak), of whole numbers, so that sums are exact."""

import torch

META = dict(
    framework="torch",
    form="batched",
    topic="control: cumulative sum along the row",
    source="columnflow/columnflow#533",
    title="Fix cumulate (healthy twin)",
    url="https://github.com/columnflow/columnflow/pull/533",
    relation="control",
    expected="invariant",
    axes=[],
    culprit_op="none",
    culprit_kind="none",
    n=64,
)


def make_input(n):
    return torch.randint(-50, 50, (n, 14), generator=torch.Generator().manual_seed(740)).float()


def fn(x):
    return x.cumsum(1).cummax(1).values
