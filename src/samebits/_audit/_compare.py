"""Two runs compared row by row: which rows differ in any bit, and how far the values are apart."""

from dataclasses import dataclass

import numpy as np

from samebits._audit import _bits
from samebits._frontends import Outputs
from samebits.report import MOST_ENTRIES, Difference, Entry


@dataclass(frozen=True)
class Comparison:
    """The rows of two runs side by side.

    Attributes:
        differs: bool [rows], any bit of any output.
        scaled: for each output with rows, float64 [rows]: the largest difference over the largest finite entry of the
            row; inf where one side is finite and the other is not. Scaling by the row and not by the element is what
            tells rounding from leaks: cancelled entries are many ulp apart for benign reasons.
        ulps: int64 [rows], the largest distance in units in the last place over all outputs; -1 where there is none.
        difference: the worst of it in words; None where no bit differs.
    """

    differs: np.ndarray
    scaled: tuple[np.ndarray, ...]
    ulps: np.ndarray
    difference: Difference | None

    @property
    def by_row(self) -> np.ndarray:
        """float64 [rows]: the largest scaled difference over all outputs."""
        return np.maximum.reduce([np.zeros(len(self.differs)), *self.scaled])

    @property
    def largest(self) -> float:
        return max((float(s.max(initial=0.0)) for s in self.scaled), default=0.0)


def compare(
    left: Outputs,
    left_rows: np.ndarray,
    right: Outputs,
    right_rows: np.ndarray,
    outputs: tuple[int, ...],
    rows: np.ndarray,
    label: str,
) -> Comparison:
    """Compares left[left_rows] with right[right_rows] in the outputs that have rows.

    `rows` are the same rows by their index in the user's batch.
    """
    n = len(left_rows)
    differs, scaled, ulps, worst = np.zeros(n, bool), [], np.zeros(n, np.int64), None
    for i in outputs:
        a, b = left.leaves[i], right.leaves[i]
        if not _comparable(a, left_rows, b, right_rows):
            return _mismatch(n, rows, left.names[i], a, b, label, len(outputs))
        a, b = a[left_rows], b[right_rows]
        mask = _bits.rows_differ(a, b)
        differs |= mask
        distance = np.zeros(n)
        if mask.any():
            a, b = a[mask], b[mask]  # the rows that agree need no figures
            found = _measure(a, b, mask[mask])
            distance[mask] = found.scaled
            here = _bits.row_ulps(_bits.reals(a), _bits.reals(b))
            ulps[mask] = np.where((ulps[mask] < 0) | (here < 0), -1, np.maximum(ulps[mask], here))
            one = found.difference(rows[mask], left.names[i], label)
            if worst is None or one.row_scaled > worst.row_scaled:
                worst = one
        scaled.append(distance)
    if worst is not None:
        worst = Difference(**{**vars(worst), "rows": int(differs.sum())})
    return Comparison(differs, tuple(scaled), ulps, worst)


def _comparable(a: np.ndarray, a_rows: np.ndarray, b: np.ndarray, b_rows: np.ndarray) -> bool:
    if a.ndim == 0 or b.ndim == 0 or a.shape[1:] != b.shape[1:] or a.dtype != b.dtype:
        return False
    return bool(a_rows.max(initial=-1) < len(a) and b_rows.max(initial=-1) < len(b))


def worse(a: Difference | None, b: Difference | None) -> Difference | None:
    """The larger of two differences, by the row's scale, then by ulp."""
    if a is None or b is None:
        return a or b
    key = [(d.row_scaled, float("inf") if d.ulp is None else d.ulp) for d in (a, b)]
    return b if key[1] > key[0] else a


@dataclass(frozen=True)
class _Measured:
    a: np.ndarray
    b: np.ndarray
    scaled: np.ndarray
    absolute: np.ndarray
    relative: float
    ulp: int | None

    def difference(self, rows: np.ndarray, output: str, label: str) -> Difference:
        r = int(np.argmax(self.scaled))
        worst = self._entry(r, rows)
        return Difference(
            ulp=self.ulp, relative=self.relative, row_scaled=float(self.scaled[r]), rows=0, row=worst.row,
            output=output, left=worst.left, right=worst.right, comparison=label,
            entries=tuple(self._entry(i, rows) for i in range(min(MOST_ENTRIES, len(rows)))),
        )  # fmt: skip

    def _entry(self, r: int, rows: np.ndarray) -> Entry:
        """The entry of row r that is farthest apart; of equal values in other bits (0 against -0) the first."""
        left, right = self.a[r].ravel(), self.b[r].ravel()
        if self.scaled[r] == 0:
            e = int(np.flatnonzero(_bits.rows_differ(left, right))[0])
        else:
            e = int(np.argmax(self.absolute[r])) // (2 if np.iscomplexobj(self.a) else 1)
        x, y = _bits.reals(left[e : e + 1]), _bits.reals(right[e : e + 1])
        ulp = int(_bits.row_ulps(x, y)[0])
        index = tuple(map(int, np.unravel_index(e, self.a.shape[1:])))
        return Entry(int(rows[r]), index, _bits.show(left[e]), _bits.show(right[e]), None if ulp < 0 else ulp)


def _measure(a: np.ndarray, b: np.ndarray, mask: np.ndarray) -> _Measured:
    n = len(a)
    x, y = _bits.reals(a).reshape(n, -1), _bits.reals(b).reshape(n, -1)
    fx, fy = x.astype(np.float64), y.astype(np.float64)
    equal = (fx == fy) | (np.isnan(fx) & np.isnan(fy))
    with np.errstate(invalid="ignore", over="ignore"):
        d = np.where(equal, 0.0, np.nan_to_num(np.abs(fx - fy), nan=np.inf, posinf=np.inf))
        largest = np.maximum(np.abs(fx), np.abs(fy))
        size = np.where(np.isfinite(largest) & (largest > 0), largest, 1.0)
        finite = np.maximum(*(np.where(np.isfinite(v), np.abs(v), 0.0).max(axis=1) for v in (fx, fy)))
        scaled = np.where(mask, d.max(axis=1) / np.where(finite > 0, finite, 1.0), 0.0)
    ulp = None if np.isinf(d).any() else _bits.ulp(x, y)
    return _Measured(a, b, scaled, d, float((d / size).max()), ulp)


def _mismatch(n, rows, name: str, a: np.ndarray, b: np.ndarray, label: str, outputs: int) -> Comparison:
    worst = Difference(
        ulp=None, relative=np.inf, row_scaled=np.inf, rows=n, row=int(rows[0]), output=name,
        left=f"{a.dtype}{list(a.shape)}", right=f"{b.dtype}{list(b.shape)}", comparison=label,
    )  # fmt: skip
    return Comparison(np.ones(n, bool), tuple(np.full(n, np.inf) for _ in range(outputs)), np.full(n, -1), worst)
