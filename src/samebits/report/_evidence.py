"""What a report has beside its axes: rows, witnesses, a profile, causes, advice; plain data."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Measurement:
    """One comparison of an axis.

    Attributes:
        label: which one ("7 against 64 rows"). size: rows of the smaller call.
        rows: the rows compared, by their index in the batch; at most MOST_ROWS, those that differ first.
        scaled: for each of them the largest difference over the row's largest entry; inf where a side is not finite.
        ulp: for each of them the largest distance in units in the last place; -1 where it has none.
        compared, differing: how many rows there were, and how many differ.
    """

    label: str
    size: int
    rows: tuple[int, ...]
    scaled: tuple[float, ...]
    ulp: tuple[int, ...]
    compared: int
    differing: int


MOST_ROWS = 256


@dataclass(frozen=True)
class Witness:
    """A second opinion: what was done, the figures that came out, and what they say."""

    name: Literal["float64", "bound", "nudges"]
    experiment: str
    figures: str
    says: Literal["rounding", "leak", "nothing"]


@dataclass(frozen=True)
class Magnifier:
    """Where a program magnifies rounding.

    kind: "conditioning" (a step that multiplies relative differences by `factor`), "tie" (an argmax, sort or top-k of
    values that lie a rounding error apart), "branch" (a comparison that flipped), "steps" (a loop that took another
    number of iterations).
    """

    kind: Literal["conditioning", "tie", "branch", "steps"]
    operation: str
    file: str | None
    line: int | None
    source: str
    factor: float | None
    detail: str


@dataclass(frozen=True)
class Step:
    """One operation of the program, as both runs met it.

    rows: how many rows differ after it; ulp and row_scaled: by how much at most. event: what the operation does to the
    difference: "born" (inputs agree, outputs differ), "grows", "shrinks" (by 2 or more), "dies" (outputs agree again),
    "carried", or "none" where there is none.
    """

    operation: str
    shape: str
    file: str | None
    line: int | None
    source: str
    rows: int
    ulp: int | None
    row_scaled: float
    event: Literal["none", "born", "carried", "grows", "shrinks", "dies"]


@dataclass(frozen=True)
class Tree:
    """The order in which n terms are added at one batch size, seen from outside.

    joins: (left, right, node) in the order of the additions; leaves are 0 to n - 1, nodes n and up.
    """

    label: str
    size: int
    terms: int
    joins: tuple[tuple[int, int, int], ...]
    note: str = ""


@dataclass(frozen=True)
class Cause:
    """Why, each field a few sentences; `established` are the lines of the experiment that was run."""

    name: str
    what: str
    why: str
    established: tuple[str, ...]
    fix: str
    safety: str


@dataclass(frozen=True)
class Candidate:
    """Something tried against the difference, audited again and timed.

    seconds: of the whole batch, a minimum over interleaved turns; ratio: over that of the program as it is. promise:
    "by construction" or "measured".
    """

    name: str
    code: str
    verdict: str
    promise: Literal["by construction", "measured", ""]
    seconds: float | None = None
    ratio: float | None = None
    refusal: str = ""
    notes: tuple[str, ...] = ()
