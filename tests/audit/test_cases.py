"""A few of the cases of tests/audit/cases, audited; `python -m dev.score` takes all of them."""

import json

import pytest

import samebits
from dev.case_index import load
from dev.score import BAD, CASES, agrees, located

INDEX = {c["name"]: c for c in json.loads((CASES / "index.json").read_text())}
QUICK = [
    "jax_logsumexp_one_maximum",
    "jax_carry_over_rows",
    "jax_longest_masks_all",
    "jax_counter_in_closure",
    "jax_remainder_of_norm",
    "jax_masked_attention",
    "jax_control_hash",
    "torch_target_broadcast",
    "torch_scale_per_row_block",
    "torch_normaliser_learns_in_eval",
    "torch_accept_at_a_tie",
]
REPAIRED = ["jax_longest_masks_all", "torch_scale_per_row_block"]


def loaded(name):
    if INDEX[name]["framework"] == "torch":
        pytest.importorskip("torch")
    return load(CASES / INDEX[name]["file"])


def test_the_index_has_all_cases_and_their_marks():
    assert {f"{name}.py" for name in INDEX} == {p.name for p in CASES.glob("*.py")}
    assert len(INDEX) >= 40
    for case in INDEX.values():
        marks = [i for i, line in enumerate((CASES / case["file"]).read_text().splitlines(), 1) if "# CULPRIT" in line]
        assert marks == ([case["culprit_line"]] if case["expected"] != "invariant" else []), case["name"]
        assert case["measured_verdict"] in case["acceptable"], case["name"]


@pytest.mark.parametrize("name", QUICK)
def test_verdict_and_line(name):
    truth, case = INDEX[name], loaded(name)
    single = not hasattr(case, "fn")
    report = samebits.audit(case.single if single else case.fn, case.make_input(truth["n"]), per_example=single)
    assert agrees(truth["expected"], report.verdict), report
    if report.verdict != "holds":
        assert report.first is not None, report
        assert located(truth, report.first.file, report.first.line), report


@pytest.mark.parametrize("name", REPAIRED)
def test_a_repaired_leak_is_none(name):
    case = loaded(name)
    report = samebits.audit(case.fixed, case.make_input(INDEX[name]["n"]))
    assert report.verdict not in BAD, report


def test_a_wrong_verdict_does_not_agree():
    assert not agrees("leak", "rounding")
    assert not agrees("rounding", "leak")
    assert not agrees("invariant", "rounding")
    assert not located(INDEX["jax_carry_over_rows"], "jax_carry_over_rows.py", 1)
