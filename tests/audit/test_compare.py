"""Figures of a comparison, limits, and the verdict from the axes."""

import ml_dtypes
import numpy as np
import pytest

from samebits._audit import _verdict
from samebits._audit._compare import compare
from samebits._frontends import Outputs
from samebits.report import Axis, Difference

ALL = np.arange(3)


def run(a, b, rows=ALL):
    outputs = [Outputs((np.asarray(x),), ("y",)) for x in (a, b)]
    return compare(outputs[0], rows, outputs[1], rows, (0,), rows + 100, "test")


def worst(a, b) -> Difference:
    found = run(a, b).difference
    assert found is not None
    return found


def test_equal_bits_are_no_difference():
    x = np.array([[1.0, np.nan], [np.inf, -0.0], [3, 4]], np.float32)
    found = run(x, x.copy())
    assert found.difference is None
    assert not found.differs.any()
    assert found.largest == 0


def test_one_ulp():
    x = np.array([[1, 2], [3, 1000], [5, 6]], np.float32)
    y = x.copy()
    y[1, 0] = np.nextafter(np.float32(3), np.float32(4))
    found = run(x, y)
    d = worst(x, y)
    assert found.differs.tolist() == [False, True, False]
    assert (d.ulp, d.rows, d.row, d.output) == (1, 1, 101, "y")
    assert d.relative == pytest.approx(2**-22 / 3)
    assert d.row_scaled == pytest.approx(2**-22 / 1000)
    assert (d.left, d.right) == ("3.0 (40400000)", "3.0000002 (40400001)")


def test_the_sign_of_zero_differs_in_bits_and_not_in_size():
    x, y = np.zeros((3, 2), np.float32), np.full((3, 2), -0.0, np.float32)
    assert run(x, y).differs.all()
    assert worst(x, y).row_scaled == 0
    assert worst(x, y).right == "-0.0 (80000000)"


@pytest.mark.parametrize("other", [np.nan, np.inf])
def test_not_finite_against_finite_is_infinitely_far(other):
    x = np.ones((3, 2), np.float32)
    y = x.copy()
    y[2, 1] = other
    d = worst(x, y)
    assert d.row_scaled == np.inf
    assert d.ulp is None


@pytest.mark.parametrize(
    "dtype", [np.int32, np.bool_, np.uint8, np.float16, np.float64, ml_dtypes.bfloat16, np.complex64]
)
def test_dtypes(dtype):
    x = np.array([[0, 1], [1, 1], [0, 0]]).astype(dtype)
    y = np.array([[0, 1], [0, 1], [0, 0]]).astype(dtype)
    d = worst(x, y)
    assert d.row == 101
    assert d.row_scaled == 1


def test_shapes_and_dtypes_that_differ_are_a_difference():
    x = np.ones((3, 2), np.float32)
    assert worst(x, np.ones((3, 4), np.float32)).row_scaled == np.inf
    assert worst(x, np.ones((3, 2), np.float64)).right == "float64[3, 2]"
    assert worst(x, np.ones((2, 2), np.float32)).row_scaled == np.inf
    assert worst(x, np.float32(1)).row_scaled == np.inf


def test_rows_without_entries_agree():
    assert run(np.ones((3, 0), np.float32), np.ones((3, 0), np.float32)).difference is None


def test_limits_follow_the_coarsest_float():
    f32, f64, bf16, i32 = (np.dtype(d) for d in (np.float32, np.float64, ml_dtypes.bfloat16, np.int32))
    assert _verdict.limit_for([f32]) == pytest.approx(1e-5, rel=0.01)
    assert _verdict.limit_for([f64]) == pytest.approx(84 * 2.0**-52)
    assert _verdict.limit_for([f64, f32]) == _verdict.limit_for([f32])
    assert _verdict.limit_for([bf16, f32]) == 8 * 2.0**-7
    assert _verdict.limit_for([np.dtype(np.complex64)]) == _verdict.limit_for([f32])
    assert _verdict.limit_for([i32]) == 0


def test_integers_are_over_any_limit():
    found = run(np.array([1, 2, 3]), np.array([1, 2, 4]))
    assert _verdict.over(found, [np.dtype(np.int64)], 1e9).all()
    assert not _verdict.over(run(np.ones(3), np.ones(3) * 2), [np.dtype(np.float64)], 1e9).any()


def test_the_worst_axis_decides_where_it_has_a_say():
    def axes(*pairs):
        return tuple(Axis(str(i), s, None, (), decides=d) for i, (s, d) in enumerate(pairs))

    assert _verdict.verdict(axes(("holds", True), ("leak", True), ("rounding", True))) == "leak"
    assert _verdict.verdict(axes(("holds", True), ("leak", False))) == "holds"
    assert _verdict.verdict(axes(("not run", True), ("rounding", True))) == "rounding"
    assert _verdict.verdict(axes(("nondeterministic", True), ("leak", True))) == "nondeterministic"


def test_ulps_are_kept_by_row():
    x = np.array([[1, 2], [3, 1000], [5, np.nan]], np.float32)
    y = x.copy()
    y[0, 1] = np.nextafter(np.float32(2), np.float32(3))
    y[2, 1] = 1
    assert run(x, y).ulps.tolist() == [1, 0, -1]
    assert run(x, y).by_row.tolist() == [pytest.approx(2**-23), 0, np.inf]
    assert run(np.ones((3, 2), np.complex64), np.full((3, 2), 1 + 1e-45j, np.complex64)).ulps.tolist() == [1, 1, 1]
    assert run(np.array([1, 2, 3]), np.array([1, 2, 9])).ulps.tolist() == [0, 0, 6]


def test_the_first_rows_have_their_worst_entry():
    x = np.arange(28, dtype=np.float32).reshape(7, 2, 2) + 1
    y = x.copy()
    y[1:, 1, 0] *= 2
    y[1:, 0, 1] += 1e-3
    found = run(x, y, np.arange(7)).difference
    assert found is not None
    assert [(e.row, e.index) for e in found.entries] == [(100 + r, (1, 0)) for r in (1, 2, 3, 4, 5)]
    assert found.entries[0].left == "7.0 (40e00000)"
    assert found.entries[0].right == "14.0 (41600000)"
    assert found.entries[0].ulp == 1 << 23


@pytest.mark.parametrize("dtype", [np.float32, np.complex64])
def test_other_bits_of_one_value_are_found(dtype):
    x = np.zeros((3, 4), dtype)
    y = x.copy()
    y[1, 3] = -y[1, 3]
    d = worst(x, y)
    assert (d.row, d.row_scaled, [e.index for e in d.entries]) == (101, 0, [(3,)])
    assert "-0" in d.right
    assert "80000000" in d.right


def test_no_ulps_where_a_side_is_not_finite():
    x = np.ones((3, 2), np.float32)
    y = x.copy()
    y[2, 1] = np.inf
    (entry,) = worst(x, y).entries
    assert (entry.row, entry.index, entry.ulp) == (102, (1,), None)
