"""The rule table names clauses that exist and references that exist."""

import re
from pathlib import Path

import samebits.order
from samebits._rules import OPERATIONS, clause

SPEC = Path(__file__).parents[2] / "spec" / "order.md"


def test_each_clause_is_written_in_the_spec():
    written = set(re.findall(r"^- \*\*([A-Z]+-\d+)\*\*", SPEC.read_text(), re.MULTILINE))
    assert len(written) > 60
    assert {o.clause for o in OPERATIONS.values()} <= written


def test_each_reference_exists():
    missing = [n for n, o in OPERATIONS.items() if o.reference and not hasattr(samebits.order, o.reference)]
    assert missing == []
    assert clause("dot") == "DOT-3"
