"""Nudges: is a difference above the limit rounding that the program magnifies, or does the program mix rows?"""

from collections.abc import Callable, Sequence
from functools import cached_property

import numpy as np

from samebits._audit import _plan
from samebits._audit._compare import Comparison, compare
from samebits._audit._trial import CouldNotRun, Pair, Trial
from samebits._frontends import Outputs
from samebits.report import Witness

# Inputs are moved by this many units in the last place. Drift inside a program is a few such steps at each operation;
# by backward stability a dot product or sum that rounds otherwise equals the same one on inputs moved this little.
NUDGES = (1, 8, 64, 2, 32, 4, 16, 1)

# Rows that are nudged, those that differ most: a step count or an argmax flips for few rows only, and there it must.
SOME = 64

# Nudged rows in all: a small batch is nudged more often.
ROWS = 512

# A difference counts as explained when nudged inputs move the same output by at least a quarter of it: the nudges are
# samples, and a worst case over few samples falls short of the worst case. A leak is orders of magnitude away.
SLACK = 4.0


class Sensitivity:
    """How far rows' outputs move when what they are made of moves by rounding errors, at one shape.

    That is the rows' own floats or, in a batch without any (tokens), the arrays that the function closes over. The rows
    are at most SOME of the batch, those that differ most in the pairs given.
    """

    def __init__(self, trial: Trial, pairs: Sequence[Pair]):
        self.trial = trial
        far = np.zeros(trial.rows)
        for p in pairs:
            far[p.rows] = np.maximum(far[p.rows], p.comparison.by_row)
        n = SOME if trial.rows > SOME and trial.runs_on(SOME) else trial.rows
        self.rows = np.sort(np.argsort(-far, kind="stable")[:n])
        self.leaves = _plan.take(trial.batch.leaves, self.rows)
        self.ran = 0

    @cached_property
    def moved(self) -> list[float]:
        """For each output with rows, the largest row-scaled change over all nudges."""
        trial = self.trial
        moved = [0.0 for _ in trial.outputs]
        try:
            base = trial.attempt(self.leaves) if len(self.rows) < trial.rows else trial.first
        except CouldNotRun:
            return moved
        rounds = max(1, min(4, ROWS // (len(self.rows) * len(NUDGES))))
        for seed, ulps in enumerate(NUDGES * rounds):
            if not trial.budget.fits(len(self.rows), first=3):
                break
            try:
                out = self._nudged(ulps, seed)
            except CouldNotRun:
                continue
            self.ran += 1
            found = self._compare(base, out, ulps)
            moved = [max(m, float(s.max(initial=0.0))) for m, s in zip(moved, found.scaled, strict=True)]
        return moved

    def _compare(self, base: Outputs, out: Outputs, ulps: int) -> Comparison:
        here = np.arange(len(self.rows))
        return compare(base, here, out, here, self.trial.outputs, self.rows, f"moved by {ulps} ulp")

    def _nudged(self, ulps: int, seed: int) -> Outputs:
        if _plan.can_be_nudged(self.trial.batch):
            moved = _plan.take(_plan.nudged(self.trial.batch, ulps, seed), self.rows)
            return self.trial.attempt(moved)
        self._ulps, self._seed = ulps, seed
        return self.trial.with_constants(self.leaves, self._move)

    @cached_property
    def _move(self) -> Callable[[np.ndarray], np.ndarray]:  # one function for all nudges: one program serves them all
        return lambda a: _plan.moved(a, self._ulps, self._seed)

    def explains(self, pair: Pair, above: np.ndarray) -> bool:
        """Whether nudges move each of the outputs in `above` (bool [outputs]), in some row, about as far as the pair's
        rows differ."""
        return all(
            float(scaled.max(initial=0.0)) <= SLACK * moved
            for scaled, moved, is_above in zip(pair.comparison.scaled, self.moved, above, strict=True) if is_above
        )  # fmt: skip

    def witness(self, pair: Pair, explains: bool) -> Witness:
        moved, seen = max(self.moved, default=0.0), pair.comparison.largest
        what = "the rows' floats" if _plan.can_be_nudged(self.trial.batch) else "the arrays it closes over"
        return Witness(
            "nudges",
            f"{what} moved by 1 to {max(NUDGES)} units in the last place, {self.ran} times, {len(self.rows)} rows",
            f"the nudges move a row by {moved:.1e} of its largest entry; {pair.label} differ by {seen:.1e}",
            "rounding" if explains else "nothing" if not self.ran else "leak",
        )
