"""The rule table has a row for each function of samebits.order, and names clauses that exist."""

import re
from pathlib import Path

import samebits.order
from samebits._rules import OPERATIONS, clause
from samebits.order._complex import FORMULAS

SPEC = Path(__file__).parents[2] / "spec" / "order.md"
FAMILIES = "DOT CONV ATT SUM PROD MAX ARG ANY WIN FOLD ACC CUM SCT TOP ELT FUN CVT CPX MOVE EXACT SPLIT ROW LEVEL BATCH"
BESIDE = {"fma32", "fma64", "require_ieee_mode"}
"""Functions of samebits.order that are no operations: NUM-1 and NUM-3."""


def test_each_clause_is_written_in_the_spec():
    written = set(re.findall(r"^- \*\*([A-Z]+-\d+)\*\*", SPEC.read_text(), re.MULTILINE))
    assert len(written) > 60
    assert {o.clause for o in OPERATIONS.values()} <= written


def test_each_family_of_operations_has_a_row():
    assert {o.clause.split("-")[0] for o in OPERATIONS.values()} >= set(FAMILIES.split())


def test_each_reference_exists():
    missing = [n for n, o in OPERATIONS.items() if o.reference and not hasattr(samebits.order, o.reference)]
    assert missing == []
    assert clause("dot") == "DOT-3"


def test_each_function_of_the_reference_has_a_row():
    functions = {name for name in vars(samebits.order) if not name.startswith("_") and name.islower()}
    assert len(functions) > 100
    assert functions - BESIDE == {o.reference for o in OPERATIONS.values() if o.reference}


def test_each_complex_operation_has_a_row_of_its_own():
    rows = {name.removeprefix("complex_") for name in OPERATIONS if OPERATIONS[name].clause.startswith("CPX-")}
    assert rows >= FORMULAS.keys()
    assert clause("complex_div") == "CPX-4"
    assert clause("gelu_erfc") != clause("gelu")
