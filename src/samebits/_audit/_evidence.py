"""Is a difference above the limit rounding that the program magnifies, or does the program mix rows?"""

from functools import cached_property

import numpy as np

from samebits._audit import _plan
from samebits._audit._trial import CouldNotRun, Pair, Trial
from samebits._frontends import Call, Outputs

# Inputs are moved by this many units in the last place. Drift inside a program is a few such steps at each operation;
# by backward stability a dot product or sum that rounds otherwise equals the same one on inputs moved this little.
NUDGES = (1, 1, 2, 4, 8, 16, 32, 64)

# Nudged rows in all: a step count or an argmax flips for few rows only, so a small batch is nudged more often.
ROWS = 512

# A difference counts as explained when nudged inputs move the same output by at least a quarter of it: the nudges are
# samples, and a worst case over few samples falls short of the worst case. A leak is orders of magnitude away.
SLACK = 4.0


class Sensitivity:
    """How far each row's outputs move when what they are made of moves by rounding errors, at the whole batch's shape.

    That is the rows' own floats or, in a batch without any (tokens), the arrays that the function closes over.
    """

    def __init__(self, trial: Trial):
        self.trial = trial

    @cached_property
    def moved(self) -> list[np.ndarray]:
        """For each output with rows, float64 [rows]: the largest row-scaled change over all nudges."""
        trial, rows = self.trial, np.arange(self.trial.rows)
        moved = [np.zeros(trial.rows) for _ in trial.outputs]
        base = Call(trial.batch.leaves, rows)
        rounds = max(1, min(4, ROWS // (trial.rows * len(NUDGES))))
        for seed, ulps in enumerate(NUDGES * rounds):
            try:
                leaves, out = self._nudged(ulps, seed)
            except CouldNotRun:
                continue
            pair = trial.pair(base, trial.base(trial.rows), Call(leaves, rows), out, rows, f"moved by {ulps} ulp")
            moved = [np.maximum(m, s) for m, s in zip(moved, pair.comparison.scaled, strict=True)]
        return moved

    def _nudged(self, ulps: int, seed: int) -> tuple[tuple[np.ndarray, ...], Outputs]:
        trial = self.trial
        if _plan.can_be_nudged(trial.batch):
            leaves = _plan.nudged(trial.batch, ulps, seed)
            return leaves, trial.attempt(leaves)
        return trial.batch.leaves, trial.with_constants(lambda a: _plan.moved(a, ulps, seed))

    def explains(self, pair: Pair, above: np.ndarray) -> bool:
        """Whether what `above` (bool [outputs]) points at is rounding that the program magnifies.

        A function of one row knows neither its index nor the size of a batch, so what remains of a mapped one, at other
        sizes or alone, is rounding (other content is an axis of its own). Else nudges must move each of these outputs,
        in some row, about as far as the pair's rows differ.
        """
        if self.trial.form == "mapped" and pair.same_order:
            return True
        return all(
            float(scaled.max()) <= SLACK * float(moved.max())
            for scaled, moved, is_above in zip(pair.comparison.scaled, self.moved, above, strict=True) if is_above
        )  # fmt: skip
