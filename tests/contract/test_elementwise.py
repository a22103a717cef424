"""Elementwise arithmetic, conversions and functions: reference = each instruction set (ELT, CVT, FUN)."""

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

FLOATS = [np.float32, np.float64, ml_dtypes.bfloat16, np.float16]
INTEGER_ONE = ["neg", "abs", "sign", "not", "population_count", "clz", "square"]
ONE = ["square", "neg", "abs", "sign", "sqrt", "floor", "ceil", "round_even", "round_away", "is_finite"]
TWO = ["add", "sub", "mul", "div", "rem", "max", "min", "copysign", "nextafter", "eq", "ne", "lt", "le", "gt", "ge",
       "eq_to", "lt_to", "le_to"]  # fmt: skip
FUNCTIONS = ["exp", "exp2", "expm1", "log", "log1p", "tanh", "logistic", "rsqrt", "sin", "cos", "erf"]
FUNCTIONS += ["tan", "asin", "acos", "atan", "sinh", "cosh", "asinh", "acosh", "atanh", "cbrt"]
FUNCTIONS += ["erfc", "erf_inv", "lgamma", "digamma", "bessel_i0e", "bessel_i1e"]
INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
SIZES = [0, 1, 2, 3, 7, 8, 16, 17, 31, 33, 64, 100, 256, 257, 1000]
REFERENCE = {"max": "maximum", "min": "minimum", "and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor",
             "not": "bitwise_not"}  # fmt: skip


def integers(seed, n, dtype):
    info = np.iinfo(dtype)
    rng = np.random.default_rng(seed)
    wide = rng.integers(info.min, info.max, n, dtype=dtype, endpoint=True)
    return np.where(rng.random(n) < 0.5, wide >> rng.integers(0, info.bits - 1, n).astype(dtype), wide)


@settings(max_examples=150, deadline=None)
@given(
    operation=st.sampled_from([*ONE, *TWO]), dtype=st.sampled_from(FLOATS), n=st.sampled_from(SIZES),
    special=st.sampled_from([0.05, 0.5, 1]), seed=st.integers(0, 99),
)  # fmt: skip
def test_floats(agree, numbers, operation, dtype, n, special, seed):
    operands = [numbers(seed + i, n, dtype, special) for i in range(1 if operation in ONE else 2)]
    agree(operation, *operands, operation=REFERENCE.get(operation, operation))


@pytest.mark.parametrize("operation", [
    "add", "sub", "mul", "neg", "abs", "sign", "max", "min", "eq", "ne", "lt", "le", "gt", "ge", "div", "rem", "mulhi",
    "and", "or", "xor", "not", "shift_left", "shift_right_logical", "shift_right_arithmetic", "population_count", "clz",
    "eq_to", "lt_to", "le_to", "square",
])  # fmt: skip
@pytest.mark.parametrize("dtype", INTEGERS)
def test_integers(agree, operation, dtype):
    for n in (1, 300):
        operands = [integers(n + i, n, dtype) for i in range(1 if operation in INTEGER_ONE else 2)]
        agree(operation, *operands, operation=REFERENCE.get(operation, operation))


@settings(max_examples=60, deadline=None)
@given(
    dtype=st.sampled_from(FLOATS), n=st.sampled_from(SIZES), exponent=st.integers(-20, 20),
    special=st.sampled_from([0.05, 0.5]),
)  # fmt: skip
def test_integer_pow(agree, numbers, dtype, n, exponent, special):
    agree("integer_pow", numbers(n, n, dtype, special), operation="integer_pow", exponent=exponent)


@settings(max_examples=60, deadline=None)
@given(dtype=st.sampled_from([*FLOATS, *INTEGERS, "bool"]), n=st.sampled_from(SIZES), seed=st.integers(0, 9))
def test_select(agree, numbers, dtype, n, seed):
    rng = np.random.default_rng(seed)
    if dtype in FLOATS:
        a, b = (numbers(seed + i, n, dtype, 0.3) for i in range(2))
    else:
        a, b = (integers(seed + i, n, dtype) if dtype != "bool" else rng.random(n) < 0.5 for i in range(2))
    agree("select", rng.random(n) < 0.5, a, b, operation="select")


@pytest.mark.parametrize("dtype", FLOATS)
def test_clamp(agree, numbers, dtype):
    low, x, high = (numbers(i, 500, dtype, 0.3) for i in range(3))
    agree("clamp", low, x, high, operation="clamp")


@pytest.mark.parametrize("source", [*FLOATS, *INTEGERS, "bool"], ids=lambda d: np.dtype(d).name)
def test_conversions(agree, numbers, source):
    source = np.dtype(source)
    if source.name in (*INTEGERS, "bool"):
        x = integers(1, 1000, source) if source != np.bool_ else np.arange(9) % 3 == 0
    else:
        x = np.concatenate([numbers(1, 300, source, 0.3), numbers(2, 700, source) * np.asarray(2.0**7, source)])
    for target in ("float32", "float64", "bfloat16", "float16", *INTEGERS, "bool"):
        if target != source.name:
            for values in (x, x[:1], x[:17]):
                agree("convert", values, operation="convert", dtype=target)


def test_conversions_to_narrow_floats_round_once(agree):
    rng = np.random.default_rng(0)
    for target, digits in (("bfloat16", 8), ("float16", 11)):
        tie = 1 + rng.integers(0, 2 ** (digits - 1), 2000) * 2.0 ** (1 - digits) + 2.0**-digits
        x = np.ldexp(tie + rng.choice([-1, 0, 1], 2000) * 2.0**-45, rng.integers(-24, 10, 2000))
        agree("convert", x, operation="convert", dtype=target)


@pytest.mark.parametrize("shapes", [((3, 1), (1, 4)), ((), (5,)), ((2, 3, 4), (3, 1)), ((0, 3), (3,)), ((7,), ()),
                                    ((2, 1, 3, 1, 2, 1, 2, 1, 2), (1, 3, 1, 2, 1, 2, 1, 2, 1))])  # fmt: skip
def test_broadcasting(agree, numbers, shapes):
    a, b = (numbers(i, s, np.float32) for i, s in enumerate(shapes))
    agree("sub", a, b, operation="sub")
    agree("sub", a[..., ::-1] if a.ndim else a, b.T if b.ndim == 1 else b, operation="sub")


@pytest.mark.parametrize("dtype", FLOATS)
def test_strides(agree, numbers, dtype):
    a, b = numbers(0, (30, 40), dtype), numbers(1, (40, 30), dtype)
    agree("mul", a[::2, ::-1], b.T[1::2], operation="mul")


@settings(max_examples=60, deadline=None)
@given(
    operation=st.sampled_from(FUNCTIONS), dtype=st.sampled_from(FLOATS), n=st.sampled_from(SIZES),
    scale=st.sampled_from([1e-3, 0.1, 1, 1, 10]), special=st.sampled_from([0, 0.1]), seed=st.integers(0, 99),
)  # fmt: skip
def test_functions(agree, numbers, operation, dtype, n, scale, special, seed):
    x = numbers(seed, n, dtype, special)
    with np.errstate(all="ignore"):
        x = x * np.asarray(scale, dtype)
    agree(operation, np.abs(x) if operation in ("log", "rsqrt", "acosh") and seed % 2 else x, operation=operation)


@settings(max_examples=25, deadline=None)
@given(
    dtype=st.sampled_from(FLOATS), n=st.sampled_from(SIZES), special=st.sampled_from([0, 0.2]), seed=st.integers(0, 99)
)
def test_pow(agree, numbers, dtype, n, special, seed):
    x, y = numbers(seed, n, dtype, special), numbers(seed + 1, n, dtype, special)
    agree("pow", np.abs(x) if seed % 2 else x, np.round(y) if seed % 3 else y, operation="pow")


@settings(max_examples=25, deadline=None)
@given(
    dtype=st.sampled_from(FLOATS), n=st.sampled_from(SIZES), special=st.sampled_from([0, 0.2]), seed=st.integers(0, 99)
)
def test_atan2(agree, numbers, dtype, n, special, seed):
    agree("atan2", numbers(seed, n, dtype, special), numbers(seed + 1, n, dtype, special), operation="atan2")
