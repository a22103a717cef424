"""A draft token is accepted if the ratio of two probabilities exceeds the row's own number, here next to a tie. The
answer is true or false.
"""

import torch

META = dict(
    framework="torch",
    form="batched",
    topic="decision next to a tie",
    source="Neroued/ninfer#80",
    title="Design: batch-invariant greedy decode (opt-in fixed decode width)",
    url="https://github.com/Neroued/ninfer/issues/80",
    relation="inspired by",
    expected="rounding",
    axes=["batch_size"],
    culprit_op="aten::linear",
    culprit_kind="gemv or gemm, amplified by a comparison",
    n=64,
    amplified=True,
)

W = torch.randn(60, 200, generator=torch.Generator().manual_seed(711)) / 14


def make_input(n):
    x = torch.randn(n, 200, generator=torch.Generator().manual_seed(710))
    return dict(x=x, bar=torch.log_softmax(x.double() @ W.double().T, 1)[:, :20].float())


def fn(batch):
    logits = torch.nn.functional.linear(batch["x"], W)  # CULPRIT
    return torch.log_softmax(logits, 1)[:, :20] > batch["bar"]
