"""Each cause is named where the comparisons support it, and nowhere else."""

from typing import Any

import jax.numpy as jnp
import pytest

import samebits
from samebits._audit.causes import explain
from samebits.report import Axis, Finding, Measurement, Status
from tests.audit import programs as p


def axis(name: str, *differing: int, status: Status = "rounding", sizes: Any = None) -> Axis:
    """An axis whose comparisons have so many rows that differ, of ten each."""
    sizes = sizes or range(1, len(differing) + 1)
    made = tuple(Measurement(f"{name} {n}", n, (), (), (), 10, d) for n, d in zip(sizes, differing, strict=True))
    return Axis(name, status, None, (), measurements=made)


def at(operation):
    return Finding(operation, "m.py", 7, "f", "", None, None, None, "batch size", "lockstep")


STILL = axis("position", 0, 0), axis("content", 0, 0)
CASES = {
    "a matrix-vector product at one row": (
        "rounding", (axis("batch size", 1, 0, 0, sizes=(1, 7, 33)), *STILL), at("dot_general")),
    "other code at one row": ("rounding", (axis("batch size", 1, 0, 0, sizes=(1, 7, 33)), *STILL), at("tanh")),
    "another kernel at other sizes": (
        "rounding", (axis("batch size", 1, 7, 0, sizes=(1, 7, 33)), *STILL), at("aten::addmm")),
    "a row's place in the array": (
        "rounding", (axis("batch size", 0, 3), axis("position", 2, 0), axis("content", 0)), at("logistic")),
    "a statistic over the batch": ("leak", (axis("content", 4, status="leak"),), at("reduce_max")),
    "an operation that mixes rows": ("leak", (axis("content", 4, status="leak"),), at("concatenate")),
    "a key, noise or rule by index or size": (
        "leak", (axis("position", 9, status="leak"), axis("content", 0)), at("random_bits")),
    "state kept between calls, or chance": (
        "nondeterministic", (axis("repeat", 10, status="nondeterministic"),), at("aten::copy_")),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_what_the_comparisons_support(name):
    found = explain(*CASES[name])
    assert [c.name for c in found] == [name]
    assert all((c.what, c.why, c.fix, c.safety, c.established) for c in found)
    assert any("rows differ" in line for line in found[0].established)


@pytest.mark.parametrize(
    ("verdict", "axes", "first"),
    [
        ("holds", (axis("batch size", 0), *STILL), None),
        ("rounding", (axis("batch size", 1, 3), *STILL), at("tanh")),  # sizes differ, and nothing says why
        ("rounding", (axis("batch size", 1),), at("dot_general")),  # one size says nothing
        ("leak", (axis("content", 4),), None),
        ("leak", (axis("position", 4),), at("iota")),  # content was not tried
        ("nondeterministic", (), None),
    ],
)
def test_no_cause_without_support(verdict, axes, first):
    assert explain(verdict, axes, first) == ()


def test_a_report_has_its_causes():
    report = samebits.audit(lambda x: x - jnp.mean(x), p.normal(16, 5), sizes=(1, 3), axes=("size", "content"))
    assert [c.name for c in report.causes] == ["a statistic over the batch"]
    assert "why: a statistic over the batch" in " ".join(repr(report).split())
