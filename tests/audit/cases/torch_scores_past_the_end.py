"""Scores of generated sequences go on adding up until the last sequence of the batch has ended."""

import torch

META = dict(
    framework="torch",
    form="batched",
    topic="generation goes on for finished rows",
    source="huggingface/transformers#38778",
    title="fix(generation): stop beam search per-instance when heuristic satisfied",
    url="https://github.com/huggingface/transformers/pull/38778",
    relation="reduced from",
    expected="leak",
    axes=["batch_size", "cross_row"],
    culprit_op="all over rows",
    culprit_kind="stopping over batch",
    leak_kind="shared stopping rule",
    n=64,
)


def make_input(n):
    return torch.rand(n, 3, generator=torch.Generator().manual_seed(560)) * 0.3


def fn(x):
    score, h = torch.zeros(len(x)), x
    for _ in range(40):
        h = (h * 1.1 + 0.02).frac()
        score = score + h.amax(1)
        if (score > 4).all():  # CULPRIT
            break
    return score


def fixed(x):
    score, h = torch.zeros(len(x)), x
    for _ in range(40):
        h = (h * 1.1 + 0.02).frac()
        score = torch.where(score > 4, score, score + h.amax(1))
    return score
