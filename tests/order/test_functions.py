"""The reference's functions against mpmath, and their special operands (clauses FUN-1 to FUN-6)."""

import math
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
import pytest

from samebits import order
from samebits.order._exact import decide32, round32

ROOT = Path(__file__).resolve().parents[2]
EXACT: dict[str, Any] = {
    "exp": mpmath.exp,
    "exp2": lambda x: mpmath.power(2, x),
    "expm1": mpmath.expm1,
    "log": mpmath.log,
    "log1p": mpmath.log1p,
    "tanh": mpmath.tanh,
    "logistic": lambda x: 1 / (1 + mpmath.exp(-x)),
    "rsqrt": lambda x: 1 / mpmath.sqrt(x),
    "sin": mpmath.sin,
    "cos": mpmath.cos,
    "erf": mpmath.erf,
    "pow": mpmath.power,
    "tan": mpmath.tan,
    "asin": mpmath.asin,
    "acos": mpmath.acos,
    "atan": mpmath.atan,
    "atan2": mpmath.atan2,
    "sinh": mpmath.sinh,
    "cosh": mpmath.cosh,
    "asinh": mpmath.asinh,
    "acosh": mpmath.acosh,
    "atanh": mpmath.atanh,
    "cbrt": lambda x: mpmath.sign(x) * mpmath.cbrt(abs(x)),
}
# Units of the last place; spec/functions.md has the largest ones found.
BOUND = dict.fromkeys(EXACT, 1.0) | {"erf": 1.1, "expm1": 1.1, "rsqrt": 1.5}


def samples(name, n, seed=0):
    """Operands all over the domain, as float64; pow: two."""
    rng = np.random.default_rng(seed)
    wide = rng.choice([-1, 1], n) * np.exp2(rng.uniform(-40, 2.5, n))
    positive = np.exp2(rng.uniform(-120, 120, n))
    if name == "pow":
        x = np.concatenate([positive, rng.uniform(0.5, 2, n)])
        return x, rng.uniform(-120, 120, 2 * n) / np.log2(x) * rng.choice([1, 0.1, 0.01], 2 * n)
    if name == "atan2":
        y = rng.choice([-1, 1], 2 * n) * np.exp2(rng.uniform(-60, 60, 2 * n))
        return y, y * rng.choice([-1, 1], 2 * n) * np.exp2(rng.choice([1, 1, 20], 2 * n) * rng.uniform(-2, 2, 2 * n))
    further = {
        "exp": rng.uniform(-87, 88, n),
        "exp2": rng.uniform(-126, 127, n),
        "expm1": rng.uniform(-30, 88, n),
        "log": positive,
        "log1p": np.exp2(rng.uniform(-50, 120, n)),
        "logistic": rng.uniform(-87, 30, n),
        "rsqrt": positive,
        "sin": rng.choice([-1, 1], n) * np.exp2(rng.uniform(0, 127, n)),
        "cos": rng.choice([-1, 1], n) * np.exp2(rng.uniform(0, 127, n)),
        "tan": rng.choice([-1, 1], n) * np.exp2(rng.uniform(0, 127, n)),
        "sinh": rng.uniform(-88, 88, n),
        "cosh": rng.uniform(-88, 88, n),
        "asinh": np.exp2(rng.uniform(-50, 120, n)),
        "acosh": 1 + np.exp2(rng.uniform(-23, 120, n)),
        "atanh": 1 - np.exp2(rng.uniform(-20, 0, n)),
        "acos": 1 - np.exp2(rng.uniform(-20, 0, n)),
        "atan": rng.choice([-1, 1], n) * np.exp2(rng.uniform(-10, 60, n)),
        "cbrt": positive,
    }.get(name, rng.uniform(-6, 6, n))
    x = np.concatenate([wide, rng.uniform(-1.5, 1.5, n), further])
    if name in ("log", "rsqrt"):
        x = np.abs(x)
    if name == "acosh":
        x = 1 + np.abs(x)
    if name in ("asin", "acos", "atanh"):
        x = x[np.abs(x) < 1]
    return (x[x > -1] if name == "log1p" else x,)


def real(name, operands):
    return EXACT[name](*map(mpmath.mpf, operands))


@pytest.mark.parametrize("name", EXACT)
def test_float32_is_correctly_rounded(name):
    operands = [x.astype(np.float32) for x in samples(name, 400)]
    got = getattr(order, name)(*operands)
    with mpmath.workprec(400):
        for *at, y in zip(*(x.tolist() for x in operands), got.tolist(), strict=True):
            value = real(name, at)
            place = max(mpmath.mag(value) - 24, -149)
            units: Any = mpmath.nint(mpmath.ldexp(value, -place))
            assert y == math.ldexp(int(units), place), (at, y)


@pytest.mark.parametrize("name", EXACT)
def test_float64_is_within_its_bound(name):
    operands = samples(name, 150, seed=1)
    got = getattr(order, name)(*operands)
    worst = 0.0
    with mpmath.workprec(300):
        for *at, y in zip(*(x.tolist() for x in operands), got.tolist(), strict=True):
            value = real(name, at)
            worst = max(worst, float(abs(y - value) / mpmath.ldexp(1, mpmath.mag(value) - 53)))
    assert 0.4 < worst < BOUND[name]  # below .4 the measure itself would be wrong


INF, NAN = np.inf, np.nan
SPECIAL = {  # of -0, -inf, +inf
    "exp": (1, 0.0, INF),
    "exp2": (1, 0.0, INF),
    "expm1": (-0.0, -1, INF),
    "log": (-INF, NAN, INF),
    "log1p": (-0.0, NAN, INF),
    "tanh": (-0.0, -1, 1),
    "logistic": (0.5, 0.0, 1),
    "sin": (-0.0, NAN, NAN),
    "cos": (1, NAN, NAN),
    "erf": (-0.0, -1, 1),
    "rsqrt": (-INF, NAN, 0.0),
    "tan": (-0.0, NAN, NAN),
    "asin": (-0.0, NAN, NAN),
    "acos": (math.pi / 2, NAN, NAN),
    "atan": (-0.0, -math.pi / 2, math.pi / 2),
    "sinh": (-0.0, -INF, INF),
    "cosh": (1, INF, INF),
    "asinh": (-0.0, -INF, INF),
    "acosh": (NAN, NAN, INF),
    "atanh": (-0.0, NAN, NAN),
    "cbrt": (-0.0, -INF, INF),
}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", SPECIAL)
def test_special_operands(name, dtype):
    word = np.uint32 if dtype == np.float32 else np.uint64
    payload = (np.array(NAN, dtype).view(word) | word(5)).view(dtype)
    got = getattr(order, name)(np.array([-0.0, -INF, INF, payload], dtype))
    expected = np.array([*SPECIAL[name], NAN], dtype)
    assert got.view(word).tolist() == expected.view(word).tolist()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_poles_domains_and_ends_of_the_range(dtype):
    least = np.finfo(dtype).smallest_subnormal
    f = {name: lambda x, name=name: float(getattr(order, name)(np.array(x, dtype))) for name in SPECIAL}
    assert f["log"](0.0) == f["log1p"](-1) == -INF
    assert f["rsqrt"](0.0) == f["exp"](1000) == f["exp2"](1024) == f["expm1"](1000) == INF
    assert all(math.isnan(v) for v in (f["log"](-1), f["log1p"](-2), f["rsqrt"](-1)))
    for name in ("expm1", "log1p", "tanh", "sin", "tan", "asin", "atan", "sinh", "asinh", "atanh"):
        assert f[name](least) == least
        assert f[name](-least) == -least
    assert f["atanh"](1) == -f["atanh"](-1) == f["sinh"](1000) == f["cosh"](-1000) == INF
    above = float(np.nextafter(dtype(1), dtype(2)))
    assert all(math.isnan(f[name](s * above)) for name in ("asin", "acos", "atanh") for s in (-1, 1))
    assert all(math.isnan(f["acosh"](x)) for x in (2 - above, 0.0, -2.0))
    assert math.copysign(1, f["acosh"](1)) == math.copysign(1, f["acos"](1)) == 1
    assert f["acosh"](1) == f["acos"](1) == 0
    assert f["acos"](-1) == dtype(math.pi) == 2 * f["asin"](1)
    assert f["cbrt"](27) == 3
    assert f["cbrt"](-(2.0**-147)) == -(2.0**-49)
    assert f["exp2"](-149) == 2.0**-149
    bottom = -149 if dtype == np.float32 else -1074
    assert f["exp2"](bottom) == least
    assert f["exp2"](bottom - 1) == 0  # a tie, to even
    assert f["logistic"](-103.5 if dtype == np.float32 else -745) == least


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_pow_of_special_operands_is_that_of_c99(dtype):
    values = [0.0, -0.0, 1, -1, 0.5, -0.5, 2, -2, 3, -3, INF, -INF, NAN, 2.0**60, -(2.0**60)]
    rows = [  # x, and the value at each y above
        (0.0, [1, 1, 0, INF, 0, INF, 0, INF, 0, INF, 0, INF, NAN, 0, INF]),
        (-0.0, [1, 1, -0.0, -INF, 0, INF, 0, INF, -0.0, -INF, 0, INF, NAN, 0, INF]),
        (1.0, [1] * 15),
        (-1.0, [1, 1, -1, -1, NAN, NAN, 1, 1, -1, -1, 1, 1, NAN, 1, 1]),
        (INF, [1, 1, INF, 0, INF, 0, INF, 0, INF, 0, INF, 0, NAN, INF, 0]),
        (-INF, [1, 1, -INF, -0.0, INF, 0, INF, 0, -INF, -0.0, INF, 0, NAN, INF, 0]),
        (NAN, [1, 1] + [NAN] * 13),
        (2.0, [1, 1, 2, 0.5, 2**0.5, 0.5**0.5, 4, 0.25, 8, 0.125, INF, 0, NAN, INF, 0]),
        (-2.0, [1, 1, -2, -0.5, NAN, NAN, 4, 0.25, -8, -0.125, INF, 0, NAN, INF, 0]),
        (0.5, [1, 1, 0.5, 2, 0.5**0.5, 2**0.5, 0.25, 4, 0.125, 8, 0, INF, NAN, 0, INF]),
    ]
    for x, expected in rows:
        got = order.pow(np.full(len(values), x, dtype), np.array(values, dtype))
        wanted = np.array(expected, dtype)
        np.testing.assert_allclose(got, wanted, rtol=4 * np.finfo(dtype).eps)
        assert np.array_equal(np.signbit(got), np.signbit(wanted) & ~np.isnan(wanted)), x


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_atan2_of_special_operands_is_that_of_c99(dtype):
    """Against the C library's of float64, whose results here are all multiples of pi/4, or of one operand alone."""
    huge, least = np.finfo(dtype).max, np.finfo(dtype).smallest_subnormal
    values = np.array([0.0, -0.0, 1, -1, INF, -INF, NAN, huge, -huge, least, -least], dtype)
    y, x = (g.ravel() for g in np.meshgrid(values, values))
    got = order.atan2(y, x)
    wanted = np.array([math.atan2(a, b) for a, b in zip(y.tolist(), x.tolist(), strict=True)]).astype(dtype)
    word = np.uint32 if dtype == np.float32 else np.uint64
    assert got.view(word).tolist() == np.where(np.isnan(wanted), dtype(NAN), wanted).view(word).tolist()


def test_float32_ties_of_pow():
    x = np.array([4097, 5793, 3.0, 81, 2.0**-75, 2.0**-128, 2.0**75], np.float32)
    y = np.array([2, 2, 15.5, 3.75, 2, 1.171875, -2], np.float32)
    got = order.pow(x, y)
    assert got[0] == 16785408  # 16785409 lies between two float32; to even
    assert got[1] == 33558848  # 33558849 between 33558848 and 33558852: no tie
    assert got[3] == 3**15  # exact in 24 bits
    assert (got[4:] == 0).all()  # 2^-150: halfway to the smallest subnormal
    assert order.pow(np.float32(1.5), np.float32(15)) == np.float32(3**15 / 2**15)


def power_of_two(exponent):
    return Fraction(2) ** exponent


def test_round32_at_the_ends_of_the_range():
    assert round32(power_of_two(128) * (1 - power_of_two(-25))) == INF  # a tie, to even
    assert round32(power_of_two(128) * (1 - power_of_two(-25)) - 1) == np.finfo(np.float32).max
    assert round32(power_of_two(-150)) == 0
    assert round32(-3 * power_of_two(-150)) == -(2.0**-148)


def test_more_digits_are_taken_where_a_value_is_close_to_a_tie():
    # log's closest one over all float32, from bench/exhaustive_f32.py
    x = float(np.uint32(0x3C413D3A).view(np.float32))
    assert decide32("log", x).view(np.uint32) == 0xC08E158F
    with mpmath.workprec(200):
        value = mpmath.log(mpmath.mpf(x))
        units = mpmath.ldexp(value, 24 - mpmath.mag(value))
        assert abs(abs(units - mpmath.floor(units)) - 0.5) < 2.0**-29


def test_narrow_dtypes_round_once_more():
    x = np.linspace(-4, 4, 101).astype(np.float16)
    assert order.exp(x).dtype == np.float16
    assert np.array_equal(order.exp(x), order.exp(x.astype(np.float32)).astype(np.float16))


@pytest.mark.parametrize("x", [np.arange(3), np.array([True])])
def test_other_dtypes_are_refused(x):
    with pytest.raises(TypeError, match="exp takes float16, bfloat16, float32 or float64"):
        order.exp(x)
    with pytest.raises(TypeError, match="one dtype"):
        order.pow(np.float32(2), np.float64(2))


def test_generated_constants_are_what_the_script_makes():
    script = ROOT / "dev/coefficients.py"
    done = subprocess.run([sys.executable, script, "--check"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
