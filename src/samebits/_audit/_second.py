"""A second look at a difference: the same two calls in float64, and nudged inputs.

Rounding shrinks by about 2**29 from float32 to float64; what the program's mathematics does stays. Chaos may stay too,
once it has grown as far as it can: then nudges move the result as far.
"""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from samebits._audit import _bits, _plan
from samebits._audit._compare import compare
from samebits._audit._evidence import SLACK, Sensitivity
from samebits._audit._trial import CouldNotRun, Pair, Trial, whole
from samebits._frontends import Call, Outputs
from samebits.report import Status, Witness

# A difference in float64 over the one in the program's own floats. Rounding: 2e-9 from float32, 1e-14 from bfloat16,
# and a conditioned step may lose some of it. A leak: near 1, less where it hides below the rounding.
SHRANK = 1e-4
STAYED = 1e-2

# Numbers in a program (one over the batch size, say) are rounded to its own floats before it is widened, so this many
# epsilons of those may stay without being a leak.
CONSTANTS = 2

# Calls computed in float64 before nudges, which need no program of their own, are asked first.
MOST_WIDE = 3

# Units in the last place of float64 by which inputs are moved there.
WIDE_NUDGES = (1, 64)


@dataclass
class SecondLook:
    """Decides what a difference is where its size does not, and keeps the witnesses that it called."""

    trial: Trial
    pairs: Sequence[Pair]
    asked: bool = False  # the limit is the caller's, so what lies below it is rounding by his word
    witnesses: list[Witness] = field(default_factory=list)
    _wide: dict[tuple[int, ...], Outputs] = field(default_factory=dict)
    _keep: list[Call] = field(default_factory=list)  # a key holds ids, so what they name must live
    _stays: dict[int, float] = field(default_factory=dict)  # how far a pair is apart in float64
    _sensitivity: Sensitivity | None = None

    def above(self, pair: Pair, above: np.ndarray) -> tuple[Status, str]:
        """The status of a difference above the limit in the outputs `above`, and why."""
        size = f"{pair.comparison.largest:.1e} of the row's largest entry"
        if self.trial.form == "mapped" and pair.same_order:
            return "amplified", f"{size}: a function of one row cannot know its batch, so rounding has grown on the way"
        nudged = f"{size}: inputs moved by a few units in the last place move the result as far"
        if len(self._wide) > MOST_WIDE and self._nudges(pair, above):
            return "amplified", nudged
        wide = self._float64(pair)
        if wide is not None and wide.says == "rounding":
            return "amplified", f"{size}, and rounding all the same: {wide.figures}"
        if wide is not None and wide.says == "leak" and self._is_chaos(pair) is False:
            return "leak", f"{size}: {wide.figures}, where nudged inputs move it far less"
        if self._nudges(pair, above):
            return "amplified", nudged
        if wide is not None and wide.says == "leak":
            return "leak", f"{size}: {wide.figures}, and nudged inputs move the result less"
        return "leak", f"{size}: more than rounding explains, and nudged inputs move the result less"

    def below(self, pair: Pair) -> tuple[Status, str]:
        """The status of a difference below the limit, and why: it is rounding, unless it stays in float64."""
        if self.trial.form == "mapped" or self.asked:
            return "rounding", ""
        wide = self._float64(pair)
        if wide is None or wide.says != "leak":
            return "rounding", f"as small in float64 as rounding is there: {wide.figures}" if wide else ""
        if self._stays[id(pair)] <= CONSTANTS * self._epsilon():
            return (
                "rounding",
                f"{wide.figures}, as far as constants that are rounded before the program runs may be apart",
            )
        chaos = self._is_chaos(pair)
        if chaos is None:
            chaos = self._nudges(pair, np.array([bool(s.max(initial=0.0) > 0) for s in pair.comparison.scaled]))
        if chaos:
            return "rounding", f"{wide.figures}, but nudged inputs move the result as far"
        return "leak", f"small, but not rounding: {wide.figures}, where nudged inputs move it far less"

    def content(self, pair: Pair) -> None:
        """A witness for a leak that other content showed."""
        self._float64(pair)

    def _nudges(self, pair: Pair, outputs: np.ndarray) -> bool:
        if self._sensitivity is None:
            self._sensitivity = Sensitivity(self.trial, self.pairs)
        explains = self._sensitivity.explains(pair, outputs)
        self._say(self._sensitivity.witness(pair, explains))
        return explains

    def _float64(self, pair: Pair) -> Witness | None:
        """The pair computed in float64; None where there is no such form or no time."""
        seen = pair.comparison.largest
        if not self._has_narrow() or not 0 < seen < np.inf:
            return None
        sides = []
        try:
            for call in (pair.left, pair.right):
                sides.append(self._in_float64(call))
        except CouldNotRun:
            return None
        zero = np.zeros(1, int)
        left, right = (
            (whole(o) if c.alone else o, zero if c.alone else c.rows)
            for c, o in zip((pair.left, pair.right), sides, strict=True)
        )
        found = compare(*left, *right, self.trial.outputs, pair.rows, pair.label)
        ratio = found.largest / seen
        says = "rounding" if ratio <= SHRANK else "leak" if ratio >= STAYED else "nothing"
        self._stays[id(pair)] = found.largest
        witness = Witness(
            "float64", f"{pair.label}, both calls computed in float64",
            f"{seen:.1e} becomes {found.largest:.1e} in float64", says,
        )  # fmt: skip
        self._say(witness)
        return witness

    def _is_chaos(self, pair: Pair) -> bool | None:
        """Whether nudges of a few units in float64 move a result in float64 as far as the pair's two are apart there.

        None where there is no float in the batch to nudge, or no time.
        """
        call = min((c for c in (pair.left, pair.right)), key=lambda c: c.leaves[0].size)
        batch = self.trial.batch
        if call.alone or not _plan.can_be_nudged(batch):
            return None
        wide = tuple(a.astype(_wider(a.dtype)) if _bits.rounds(a.dtype) else a for a in call.leaves)
        moved = 0.0
        try:
            base = self._in_float64(call)
            for seed, ulps in enumerate(WIDE_NUDGES):
                leaves = _plan.nudged(dataclasses.replace(batch, leaves=wide), ulps, seed)
                out = self.trial.in_float64(Call(leaves, call.rows))
                found = compare(base, call.rows, out, call.rows, self.trial.outputs, pair.rows, "nudged in float64")
                moved = max(moved, found.largest)
        except CouldNotRun:
            return None
        apart = self._stays[id(pair)]
        chaos = apart <= SLACK * moved
        self._say(Witness(
            "nudges", f"{pair.label} in float64, rows moved by up to {max(WIDE_NUDGES)} units in the last place there",
            f"the nudges move a row by {moved:.1e} of its largest entry, the two calls are {apart:.1e} apart",
            "rounding" if chaos else "leak",
        ))  # fmt: skip
        return chaos

    def _in_float64(self, call: Call) -> Outputs:
        key = tuple(id(a) for a in call.leaves)
        whole_batch = call.leaves is self.trial.batch.leaves
        if key not in self._wide:
            if not self.trial.budget.fits(1 if call.alone else len(call.leaves[0]), first=3 if whole_batch else 4):
                raise CouldNotRun("no time")
            self._wide[key] = self.trial.in_float64(call)
            self._keep.append(call)
        return self._wide[key]

    def _epsilon(self) -> float:
        """Of the coarsest float of the batch and the outputs."""
        floats = [d for d in (*self.trial.dtypes, *(a.dtype for a in self.trial.batch.leaves)) if _bits.rounds(d)]
        return max(_bits.epsilon(_bits.reals(np.zeros(1, d)).dtype) for d in floats)

    def _has_narrow(self) -> bool:
        """Whether there is something to widen: narrow floats in the batch or the outputs, and no wide output."""
        outputs = [d for d in self.trial.dtypes if _bits.rounds(d)]
        floats = [*outputs, *(a.dtype for a in self.trial.batch.leaves if _bits.rounds(a.dtype))]
        return any(map(_narrow, floats)) and all(map(_narrow, outputs))

    def _say(self, witness: Witness) -> None:
        if witness not in self.witnesses:
            self.witnesses.append(witness)


def _narrow(dtype: np.dtype) -> bool:
    return dtype.itemsize < (16 if dtype.kind == "c" else 8)


def _wider(dtype: np.dtype) -> np.dtype:
    return np.dtype(np.complex128 if dtype.kind == "c" else np.float64)
