"""How two arrays differ, in the figures that decide whether it is rounding (count, ulp, relative, of the row)."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from samebits.bits._compare import NaNs, differing
from samebits.bits._ulp import ulp_distance
from samebits.bits._words import hex_words

_FLOATS = ("float16", "bfloat16", "float32", "float64", "complex64", "complex128")


@dataclass(frozen=True)
class Difference:
    """Figures of a comparison of two arrays of one shape and dtype.

    count of size elements differ in bits, in rows of n_rows along the first axis. max_ulp, max_relative (of the larger
    magnitude of the two elements) and max_of_row (the difference over the largest finite magnitude in its row, the
    figure that separates rounding from a leak: an element near zero makes the others huge) are over elements that
    differ; infinite where a NaN or an infinity faces another value; 0 where the dtype is not a float. first is the
    index of the first differing element, first_hex its words in a and in b.
    """

    dtype: str
    shape: tuple[int, ...]
    size: int
    count: int
    rows: int
    n_rows: int
    max_ulp: float
    max_relative: float
    max_of_row: float
    first: tuple[int, ...] | None
    first_hex: tuple[str, str] | None

    def __bool__(self) -> bool:
        return self.count > 0

    def __str__(self) -> str:
        if not self.count:
            return f"no bit differs in {self.dtype}{list(self.shape)}"
        where = ", ".join(map(str, self.first or ()))
        a, b = self.first_hex or ("", "")
        return (
            f"{self.count} of {self.size} elements differ ({100 * self.count / self.size:.3g} %) in {self.dtype}"
            f"{list(self.shape)}, in {self.rows} of {self.n_rows} rows; at most {self.max_ulp:.6g} ulp, "
            f"{self.max_relative:.3g} relative, {self.max_of_row:.3g} of the row's largest entry; "
            f"first at [{where}]: {a} against {b}"
        )


def difference(a: ArrayLike, b: ArrayLike, nan: NaNs = "bits") -> Difference:
    """Compares two arrays of one shape and dtype; a scalar counts as one row.

    nan as in `differing`. Raises TypeError and ValueError as it does.
    """
    a, b = np.asarray(a), np.asarray(b)
    mask = np.asarray(differing(a, b, nan))
    rows = mask.reshape(len(mask), -1) if mask.ndim > 1 else mask.reshape(-1, 1)
    first = first_hex = None
    ulp = relative = of_row = 0.0
    if mask.any():
        first = tuple(int(i) for i in np.unravel_index(int(np.argmax(mask)), mask.shape))
        first_hex = (" ".join(hex_words(a[first])), " ".join(hex_words(b[first])))
        if a.dtype.name in _FLOATS:
            ulp, relative, of_row = _figures(_by_row(a), _by_row(b), rows)
    n_rows = len(rows)
    return Difference(
        a.dtype.name, a.shape, a.size, int(mask.sum()), int(rows.any(axis=1).sum()), n_rows, ulp, relative, of_row,
        first, first_hex,
    )  # fmt: skip


def _by_row(x: NDArray) -> NDArray:
    return x.reshape(len(x), -1) if x.ndim > 1 else x.reshape(-1, 1)


def _figures(a: NDArray, b: NDArray, mask: NDArray[np.bool_]) -> tuple[float, float, float]:
    """(max ulp, max relative, max of the row's largest) over the elements of mask; a, b, mask: [rows, entries]."""
    if a.dtype.kind == "c":
        ulp = max(*(_max_ulp(part(a[mask]), part(b[mask])) for part in (np.real, np.imag)))
        wide_a, wide_b = a.astype(np.complex128), b.astype(np.complex128)
    else:
        ulp = _max_ulp(a[mask], b[mask])
        wide_a, wide_b = a.astype(np.float64), b.astype(np.float64)
    with np.errstate(all="ignore"):
        # The sign of a zero and the payload of a NaN are no difference in value.
        equal = (wide_a == wide_b) | (np.isnan(wide_a) & np.isnan(wide_b))
        gap = np.where(equal, 0, np.abs(wide_a - wide_b))
        sizes = np.fmax(np.abs(wide_a), np.abs(wide_b))
        row = np.max(np.where(np.isfinite(sizes), sizes, 0), axis=1, keepdims=True)
        figures = [_largest(gap, scale, mask) for scale in (sizes, np.broadcast_to(row, gap.shape))]
    return ulp, figures[0], figures[1]


def _max_ulp(a: NDArray, b: NDArray) -> float:
    largest = int(ulp_distance(a, b).max())
    return float("inf") if largest == 2**64 - 1 else float(largest)


def _largest(gap: NDArray, scale: NDArray, mask: NDArray[np.bool_]) -> float:
    ratio = np.where(gap == 0, 0, gap / scale)[mask]
    return float("inf") if np.isnan(ratio).any() else float(ratio.max())
