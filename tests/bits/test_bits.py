"""samebits.bits: words, equality, ulps, fingerprints, differences."""

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from samebits import bits

FLOATS = [np.float16, ml_dtypes.bfloat16, np.float32, np.float64]


def f32(*words):
    return np.array(words, np.uint32).view(np.float32)


def test_hex_words_are_padded_and_round_trip():
    x = np.array([[1.0, -0.0], [2**-149, np.inf]], np.float32)
    assert bits.hex_words(x) == ["3f800000", "80000000", "00000001", "7f800000"]
    assert bits.hex_words(np.array(True)) == ["01"]
    assert bits.hex_words(np.complex64(1 + 2j)) == ["3f800000", "40000000"]
    assert bits.same(bits.from_hex(bits.hex_words(x), np.float32, (2, 2)), x)
    with pytest.raises(ValueError, match="has 8 digits"):
        bits.from_hex(["3f80"], np.float32, (1,))
    with pytest.raises(TypeError, match="has no words"):
        bits.words(np.array(["a"], object))


def test_same_looks_at_bits_dtype_and_shape():
    assert not bits.same(np.float32(0.0), np.float32(-0.0))
    assert not bits.same(np.zeros(1, np.float32), np.zeros(1))
    assert not bits.same(np.zeros(1), np.zeros((1, 1)))
    assert bits.same(np.zeros((0, 3)), np.zeros((0, 3)))
    x = np.arange(6.0).reshape(2, 3)
    assert bits.same(x.T, np.ascontiguousarray(x.T))


@pytest.mark.parametrize("dtype", FLOATS)
def test_nan_is_compared_by_bits_or_as_any(dtype):
    w = f"u{np.dtype(dtype).itemsize}"
    nan = np.array([np.nan], dtype)
    other = (nan.view(w) | np.array(3, w)).view(dtype)
    assert not bits.same(nan, other)
    assert bits.same(nan, other, nan="any")
    assert not bits.same(nan, np.ones(1, dtype), nan="any")


@pytest.mark.parametrize("dtype", FLOATS)
def test_ulp_distance(dtype):
    one = np.array(1, dtype)
    least = np.array(1, f"u{one.itemsize}").view(dtype)
    pairs = [(one, one, 0), (np.array(0, dtype), np.array(-0.0, dtype), 0), (least, -least, 2), (-one, -one, 0)]
    largest = np.array(ml_dtypes.finfo(dtype).max, dtype)
    pairs += [(largest, np.array(np.inf, dtype), 1), (np.array(np.nan, dtype), one, 2**64 - 1)]
    pairs += [(one, (one.view(least.view(f"u{one.itemsize}").dtype) + 5).view(dtype), 5)]
    for a, b, expected in pairs:
        assert int(bits.ulp_distance(a, b)) == expected
        assert int(bits.ulp_distance(b, a)) == expected


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.floats(width=32, allow_nan=False), st.integers(0, 20)), min_size=1, max_size=8))
def test_ulp_distance_counts_steps(moves):
    a = np.array([x for x, _ in moves], np.float32)
    steps = np.array([n for _, n in moves])
    b = a.copy()
    for i in range(20):
        with np.errstate(all="ignore"):
            b = np.where(i < steps, np.nextafter(b, np.float32(np.inf)), b)
    # nextafter steps from -least to -0 to +least; the distance takes the two zeros for one, as nextafter does.
    inside = ~np.isinf(b)
    assert bits.ulp_distance(a, b)[inside].tolist() == steps[inside].tolist()


def test_fingerprint_sees_dtype_shape_and_bits_but_not_layout():
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    prints = {bits.fingerprint(v) for v in (x, x.T, x.ravel(), x.astype(np.float64), -x, x[:1])}
    assert len(prints) == 6
    assert bits.fingerprint(x.T) == bits.fingerprint(np.ascontiguousarray(x.T))
    assert bits.fingerprint(x, x) != bits.fingerprint(x)


def test_difference_of_equal_arrays():
    d = bits.difference(np.zeros((3, 2)), np.zeros((3, 2)))
    assert not d
    assert (d.count, d.size, d.rows, d.n_rows, d.first) == (0, 6, 0, 3, None)
    assert str(d) == "no bit differs in float64[3, 2]"


def test_difference_scales_by_the_row():
    a = np.array([[1000.0, 1e-6], [1.0, 2.0]], np.float32)
    b = a.copy()
    b[0, 1] = 3e-6
    d = bits.difference(a, b)
    assert d
    assert (d.count, d.rows, d.first) == (1, 1, (0, 1))
    assert d.first_hex == ("358637bd", bits.hex_words(b[0, 1])[0])
    assert d.max_relative == pytest.approx(2 / 3, rel=1e-6)
    assert d.max_of_row == pytest.approx(2e-9, rel=1e-6)
    assert d.max_ulp == float(bits.ulp_distance(a[0, 1], b[0, 1]))
    assert "1 of 4 elements differ (25 %) in float32[2, 2], in 1 of 2 rows" in str(d)


@pytest.mark.parametrize("dtype", FLOATS)
def test_difference_with_specials(dtype):
    inf, nan, zero = (np.array([v], dtype) for v in (np.inf, np.nan, 0.0))
    assert bits.difference(zero, -zero).max_relative == 0
    for a, b in ((nan, zero), (inf, zero), (inf, -inf)):
        assert bits.difference(a, b).max_relative == float("inf")
    assert not bits.difference(nan, -nan, nan="any")
    assert bits.difference(nan, zero).max_ulp == float("inf")


def test_difference_of_what_is_no_float():
    d = bits.difference(np.array([1, 2, 3]), np.array([1, 5, 3]))
    assert (d.count, d.max_ulp, d.first, d.n_rows) == (1, 0.0, (1,), 3)
    assert bits.difference(np.array(True), np.array(False)).count == 1
    assert bits.difference(np.complex64(1 + 2j), np.complex64(1 + 3j)).max_ulp > 0
    with pytest.raises(TypeError, match="convert one of them first"):
        bits.difference(np.zeros(1), np.zeros(1, np.float32))
    with pytest.raises(ValueError, match="no comparison"):
        bits.difference(np.zeros(1), np.zeros(2))
