"""Elementwise arithmetic: clauses ELT-1 to ELT-10, NUM-5, MAX-1, MAX-3.

Operands broadcast and are of one dtype: float16, bfloat16, float32, float64 or an integer where the clause has one.
Narrow floats are computed in float32 and rounded once (NUM-7). Comparisons and is_finite return booleans. Each function
raises TypeError for dtypes that its clause does not have.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from samebits.order._arguments import integer
from samebits.order._dtypes import as_array, canonical, is_float, narrow, same_dtype, widen
from samebits.order._extrema import maximum_of, minimum_of
from samebits.order._ieee import reference
from samebits.order._integers import quotient, remainder
from samebits.order._parts import elementwise, evaluate


def _operands(name: str, *operands: ArrayLike, integers: bool = False, booleans: bool = False) -> list[NDArray]:
    arrays = [as_array(x) for x in operands]
    dtype = same_dtype(name, *arrays)
    if not (is_float(dtype) or (integers and dtype.kind in "iu") or (booleans and dtype.kind == "b")):
        kinds = "floats" + ", integers" * integers + ", booleans" * booleans
        raise TypeError(f"{name} takes {kinds}, got {dtype}; convert it first (samebits.order.convert)")
    return arrays


def _arithmetic(name: str, f: Callable[..., NDArray], *operands: ArrayLike, integers: bool = False) -> NDArray:
    """f in the operands' dtype, or in float32 with one rounding after it; NaN canonical."""
    arrays = _operands(name, *operands, integers=integers)
    return narrow(np.asarray(f(*(widen(x) for x in arrays))), arrays[0].dtype)


def _bits(x: NDArray) -> NDArray:
    return x.view(f"u{x.itemsize}")


def _sign_bit(dtype: np.dtype) -> NDArray:
    return np.array(1 << (8 * dtype.itemsize - 1), f"u{dtype.itemsize}")


# ---- ELT-1 ----


@elementwise
@reference
def add(a: ArrayLike, b: ArrayLike) -> NDArray:
    """a + b (ELT-1, ELT-10)."""
    return _arithmetic("add", np.add, a, b, integers=True)


@elementwise
@reference
def sub(a: ArrayLike, b: ArrayLike) -> NDArray:
    """a - b (ELT-1, ELT-10)."""
    return _arithmetic("sub", np.subtract, a, b, integers=True)


@elementwise
@reference
def mul(a: ArrayLike, b: ArrayLike) -> NDArray:
    """a * b (ELT-1, ELT-10)."""
    return _arithmetic("mul", np.multiply, a, b, integers=True)


@elementwise
@reference
def div(a: ArrayLike, b: ArrayLike) -> NDArray:
    """a / b (ELT-1); of integers truncated (ELT-12)."""
    a, b = _operands("div", a, b, integers=True)
    return _arithmetic("div", np.divide, a, b) if is_float(a.dtype) else quotient(a, b)


@elementwise
@reference
def sqrt(x: ArrayLike) -> NDArray:
    """The square root (ELT-1)."""
    return _arithmetic("sqrt", np.sqrt, x)


@elementwise
@reference
def square(x: ArrayLike) -> NDArray:
    """x * x (ELT-1, ELT-10)."""
    return _arithmetic("square", np.square, x, integers=True)


# ---- ELT-2: bits ----


@elementwise
@reference
def neg(x: ArrayLike) -> NDArray:
    """-x: the sign bit flipped, of a NaN too (NUM-5)."""
    (x,) = _operands("neg", x, integers=True)
    return (_bits(x) ^ _sign_bit(x.dtype)).view(x.dtype) if is_float(x.dtype) else np.negative(x)


@elementwise
@reference
def abs(x: ArrayLike) -> NDArray:
    """|x|: the sign bit cleared, of a NaN too (NUM-5)."""
    (x,) = _operands("abs", x, integers=True)
    return (_bits(x) & ~_sign_bit(x.dtype)).view(x.dtype) if is_float(x.dtype) else np.absolute(x)


@reference
def copysign(x: ArrayLike, sign: ArrayLike) -> NDArray:
    """x with the sign bit of `sign` (NUM-5)."""
    x, sign = _operands("copysign", x, sign)
    bit = _sign_bit(x.dtype)
    return ((_bits(x) & ~bit) | (_bits(sign) & bit)).view(x.dtype)


@elementwise
@reference
def select(condition: ArrayLike, true: ArrayLike, false: ArrayLike) -> NDArray:
    """`true` where condition, else `false`, bit for bit; any one dtype (NUM-5). The condition is boolean."""
    condition, true, false = np.asarray(condition), as_array(true), as_array(false)
    same_dtype("select", true, false)
    if condition.dtype.kind != "b":
        raise TypeError(f"select takes a boolean condition, got {condition.dtype}")
    return np.where(condition, true, false)


# ---- ELT-3 ----


@elementwise
@reference
def maximum(a: ArrayLike, b: ArrayLike) -> NDArray:
    """The larger: NaN wins, -0 < +0 (MAX-1); complex: CPX-14."""
    return maximum_of(*_operands("maximum", a, b, integers=True, booleans=True))


@elementwise
@reference
def minimum(a: ArrayLike, b: ArrayLike) -> NDArray:
    """The smaller: NaN wins, -0 < +0 (MAX-1); complex: CPX-14."""
    return minimum_of(*_operands("minimum", a, b, integers=True, booleans=True))


@reference
def clamp(low: ArrayLike, x: ArrayLike, high: ArrayLike) -> NDArray:
    """minimum(maximum(x, low), high) (MAX-3)."""
    low, x, high = _operands("clamp", low, x, high, integers=True, booleans=True)
    return minimum_of(maximum_of(x, low), high)


# ---- ELT-4 to ELT-7 ----


@elementwise
@reference
def sign(x: ArrayLike) -> NDArray:
    """-1, 1, or x itself where it is a zero; NaN for NaN (ELT-4)."""
    (x,) = _operands("sign", x, integers=True)
    if not is_float(x.dtype):
        return np.sign(x)
    one = np.array(1, x.dtype)
    return canonical(np.where((widen(x) == 0) | np.isnan(x), x, np.where(widen(x) > 0, one, -one)))


@reference
def rem(x: ArrayLike, y: ArrayLike) -> NDArray:
    """The remainder of C's fmod, exact, with the sign of x (ELT-5); of integers that of `div` (ELT-12)."""
    x, y = _operands("rem", x, y, integers=True)
    return _arithmetic("rem", np.fmod, x, y) if is_float(x.dtype) else remainder(x, y)


@reference
def nextafter(x: ArrayLike, y: ArrayLike) -> NDArray:
    """The next number of the operands' format from x towards y (ELT-6)."""
    x, y = _operands("nextafter", x, y)
    return canonical(np.where(x == y, y, np.nextafter(x, y)))


@reference
def floor(x: ArrayLike) -> NDArray:
    """The largest integer not above (ELT-7)."""
    return _arithmetic("floor", np.floor, x)


@reference
def ceil(x: ArrayLike) -> NDArray:
    """The smallest integer not below (ELT-7)."""
    return _arithmetic("ceil", np.ceil, x)


@reference
def round_even(x: ArrayLike) -> NDArray:
    """The nearest integer, ties to even (ELT-7)."""
    return _arithmetic("round_even", np.rint, x)


@reference
def round_away(x: ArrayLike) -> NDArray:
    """The nearest integer, ties away from zero (ELT-7)."""

    def away(x: NDArray) -> NDArray:
        whole = np.trunc(x)
        return np.where(np.absolute(x - whole) >= 0.5, whole + np.copysign(x.dtype.type(1), x), whole)

    return _arithmetic("round_away", away, x)


# ---- ELT-8 ----


def _compare(name: str, f: Callable[..., NDArray], a: ArrayLike, b: ArrayLike, booleans: bool = False) -> NDArray:
    a, b = _operands(name, a, b, integers=True, booleans=booleans)
    return np.asarray(f(widen(a), widen(b)))


@elementwise
@reference
def eq(a: ArrayLike, b: ArrayLike) -> NDArray:
    """a = b (ELT-8)."""
    return _compare("eq", np.equal, a, b, booleans=True)


@elementwise
@reference
def ne(a: ArrayLike, b: ArrayLike) -> NDArray:
    """Not a = b (ELT-8)."""
    return _compare("ne", np.not_equal, a, b, booleans=True)


@reference
def lt(a: ArrayLike, b: ArrayLike) -> NDArray:
    """a < b (ELT-8)."""
    return _compare("lt", np.less, a, b, booleans=True)


@reference
def le(a: ArrayLike, b: ArrayLike) -> NDArray:
    """a <= b (ELT-8)."""
    return _compare("le", np.less_equal, a, b, booleans=True)


@reference
def gt(a: ArrayLike, b: ArrayLike) -> NDArray:
    """a > b (ELT-8)."""
    return _compare("gt", np.greater, a, b, booleans=True)


@reference
def ge(a: ArrayLike, b: ArrayLike) -> NDArray:
    """a >= b (ELT-8)."""
    return _compare("ge", np.greater_equal, a, b, booleans=True)


@elementwise
@reference
def is_finite(x: ArrayLike) -> NDArray:
    """Neither infinite nor NaN (ELT-8)."""
    (x,) = _operands("is_finite", x)
    return np.isfinite(widen(x))


# ---- ELT-9 ----


@reference
def integer_pow(x: ArrayLike, exponent: int) -> NDArray:
    """x ** exponent by repeated squaring from the low bit, then a reciprocal where it is negative (ELT-9).

    Raises ValueError for a negative exponent of integers.
    """
    exponent = integer("exponent", exponent)
    if np.iscomplexobj(x):
        return evaluate("integer_pow", x, exponent=exponent)
    if exponent < 0 and np.asarray(x).dtype.kind in "iu":
        raise ValueError(f"integer_pow of integers takes an exponent of 0 or more, got {exponent}")

    def chain(x: NDArray) -> NDArray:
        power, q, acc = x, -exponent if exponent < 0 else exponent, None
        while q > 0:
            if q & 1:
                acc = power if acc is None else acc * power
            q >>= 1
            if q > 0:
                power = power * power
        one = np.ones_like(x)
        if acc is None:
            return one
        return one / acc if exponent < 0 else acc

    return _arithmetic("integer_pow", chain, x, integers=True)
