"""What an audit found, as plain data."""

import json
import math
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from samebits.report._decode import decode
from samebits.report._evidence import Candidate, Cause, Magnifier, Measurement, Step, Tree, Witness

Status = Literal["holds", "rounding", "amplified", "leak", "nondeterministic", "not run"]
Verdict = Literal["holds", "rounding", "amplified", "leak", "nondeterministic"]

SEVERITY: dict[str, int] = {
    "not run": -1, "holds": 0, "rounding": 1, "amplified": 2, "leak": 3, "nondeterministic": 4
}  # fmt: skip


@dataclass(frozen=True)
class Entry:
    """One entry of a row in both runs.

    row: by its index in the batch. index: of the entry in the row, () for a row of one value. left, right: values and
    their bits in hex. ulp: as in Difference.
    """

    row: int
    index: tuple[int, ...]
    left: str
    right: str
    ulp: int | None


MOST_ENTRIES = 5


@dataclass(frozen=True)
class Difference:
    """The worst difference met along an axis, over all comparisons made.

    Attributes:
        ulp: units in the last place (for integers: the difference itself); None where one side is not finite.
        relative: of the larger of the two entries.
        row_scaled: of the largest finite entry of the row: what the limit applies to. inf where one side is finite and
            the other is not, or where the shapes differ.
        rows: how many rows differ in the worst comparison.
        row: one of them, by its index in the batch.
        output: the name of the output, "" for a function with one output.
        left, right: the two values with the largest difference, and their bits in hex.
        comparison: which comparison it was.
        entries: the worst entry of each of the first MOST_ENTRIES rows that differ in this comparison and output.
    """

    ulp: int | None
    relative: float
    row_scaled: float
    rows: int
    row: int
    output: str
    left: str
    right: str
    comparison: str
    entries: tuple[Entry, ...] = ()


@dataclass(frozen=True)
class Axis:
    """One thing that was varied: what was compared, and what came out.

    `limit` is the row-scaled difference up to which drift counts as rounding (None where any difference decides), and
    `reason` says in words why it is that. An axis with `decides=False` is shown but has no say in the verdict.
    `measurements` are its comparisons, each with its rows.
    """

    name: str
    status: Status
    worst: Difference | None
    tested: tuple[str, ...]
    concerned: tuple[str, ...] = ()
    limit: float | None = None
    decides: bool = True
    notes: tuple[str, ...] = ()
    reason: str = ""
    measurements: tuple[Measurement, ...] = ()


@dataclass(frozen=True)
class Finding:
    """The first operation whose inputs agree bit for bit and whose outputs differ; the user's own line first.

    `how` is the mode of the search ("lockstep", "cut", "dispatch"), and `blind` what this mode cannot see.
    """

    operation: str
    file: str | None
    line: int | None
    function: str | None
    source: str
    library_file: str | None
    library_line: int | None
    library_function: str | None
    axis: str
    how: str
    rows: int = 0
    shape: str = ""
    blind: str = ""


@dataclass(frozen=True)
class Report:
    """The outcome of an audit.

    Attributes:
        verdict: by the worst axis that decides.
        axes: what was varied.
        first: where the difference begins; `findings` has it for each mode of the search.
        subject, file, framework, rows, form, mode, versions, seconds: what was audited, and how.
        notes: what a reader must know besides.
        cost: what the audit took: "call" (seconds of one on the whole batch), "calls" and "running" (how many, and
            their seconds), "compilations" and "compiling", "locating" (seconds).
        witnesses: second opinions on a difference: a repeat in float64, a rigorous bound, nudged inputs.
        magnified: where rounding grows, for a verdict of "amplified".
        profile: how the difference fares along the program, operation by operation.
        trees: in which order a sum is done at two batch sizes.
        causes: what was established about why, each by an experiment.
        advice: what was tried against it, what holds first, the cheapest first.
    """

    verdict: Verdict
    axes: tuple[Axis, ...]
    first: Finding | None
    subject: str
    file: str | None
    framework: str
    rows: int
    form: str
    mode: str
    notes: tuple[str, ...] = ()
    seconds: float = 0.0
    versions: dict[str, str] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()
    witnesses: tuple[Witness, ...] = ()
    magnified: Magnifier | None = None
    profile: tuple[Step, ...] = ()
    trees: tuple[Tree, ...] = ()
    causes: tuple[Cause, ...] = ()
    advice: tuple[Candidate, ...] = ()
    cost: dict[str, float] = field(default_factory=dict)

    @property
    def holds(self) -> bool:
        return self.verdict == "holds"

    def to_dict(self) -> dict[str, Any]:
        """The report as plain Python data; infinities and NaN become strings, so that it is valid JSON."""
        return _plain(asdict(self))

    def to_json(self) -> str:
        return json.dumps(self.to_dict(), indent=1, allow_nan=False)

    @classmethod
    def from_dict(cls, data: Any) -> "Report":
        """The report that to_dict, to_json or `samebits audit --json` wrote. Raises ValueError for other data."""
        if isinstance(data, dict):
            data = {k: v for k, v in data.items() if k != "across"}  # what --across adds is no part of the report
        return decode(cls, data, "report")

    def save_html(self, path: str | Path) -> None:
        """Writes one page without references to anything outside it."""
        from samebits.report._html import page

        Path(path).write_text(page(self), encoding="utf-8")

    def __rich__(self) -> Any:
        from samebits.report._terminal import render

        return render(self)

    def __repr__(self) -> str:
        from samebits.report._terminal import text

        return text(self)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value
