"""Complex operations as compositions of real ones (clauses CPX-1 to CPX-14), written once.

A formula takes and returns real values of some arithmetic: NumPy arrays for ``samebits.order``, values of a program for
the native library and the frontends. Each operator and function in it is one operation of the contract; ``where``
chooses by lane, so nothing here depends on data. The same steps as text: spec/complex.md; what they keep of C99's
Annex G: spec/order.md.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

import numpy as np

V = TypeVar("V")


class Arithmetic(Protocol[V]):
    """The real operations of one float format, on values of any kind."""

    @property
    def double(self) -> bool:
        """Whether the format is float64; else it is float32."""
        ...

    def apply(self, name: str, *operands: V) -> V:
        """An operation by its name in native/include/samebits/ops.def."""
        ...

    def constant(self, value: float) -> V:
        """value rounded to the format."""
        ...


@dataclass(frozen=True, eq=False)
class Real(Generic[V]):
    """A real value (or a boolean) in an arithmetic; its operators are the contract's operations."""

    value: V
    of: Arithmetic[V]

    def __call__(self, name: str, *others: "Real[V] | float") -> "Real[V]":
        return Real(self.of.apply(name, self.value, *(self.lift(x).value for x in others)), self.of)

    def lift(self, x: "Real[V] | float") -> "Real[V]":
        return x if isinstance(x, Real) else Real(self.of.constant(x), self.of)

    def __add__(self, x: "Real[V] | float") -> "Real[V]":
        return self("add", x)

    def __radd__(self, x: float) -> "Real[V]":
        return self.lift(x)("add", self)

    def __sub__(self, x: "Real[V] | float") -> "Real[V]":
        return self("sub", x)

    def __rsub__(self, x: float) -> "Real[V]":
        return self.lift(x)("sub", self)

    def __mul__(self, x: "Real[V] | float") -> "Real[V]":
        return self("mul", x)

    def __rmul__(self, x: float) -> "Real[V]":
        return self.lift(x)("mul", self)

    def __truediv__(self, x: "Real[V] | float") -> "Real[V]":
        return self("div", x)

    def __rtruediv__(self, x: float) -> "Real[V]":
        return self.lift(x)("div", self)

    def __neg__(self) -> "Real[V]":
        return self("neg")

    def __abs__(self) -> "Real[V]":
        return self("abs")

    def __lt__(self, x: "Real[V] | float") -> "Real[V]":
        return self("lt", x)

    def __le__(self, x: "Real[V] | float") -> "Real[V]":
        return self("le", x)

    def __gt__(self, x: "Real[V] | float") -> "Real[V]":
        return self("gt", x)

    def __ge__(self, x: "Real[V] | float") -> "Real[V]":
        return self("ge", x)

    def equals(self, x: "Real[V] | float") -> "Real[V]":
        return self("eq", x)

    def __and__(self, x: "Real[V]") -> "Real[V]":
        return self("and", x)

    def __or__(self, x: "Real[V]") -> "Real[V]":
        return self("or", x)

    def __invert__(self) -> "Real[V]":
        return self("not")

    def by(self, single: float, double: float) -> float:
        """The constant of the format."""
        return double if self.of.double else single


Complex = tuple[Real[V], Real[V]]
_LN2, _HALF_PI = math.log(2), math.pi / 2


def where(condition: Real[V], true: Real[V] | float, false: Real[V] | float) -> Real[V]:
    """The operation select."""
    return condition("select", true, false)


def _i_times(z: Complex[V]) -> Complex[V]:
    return -z[1], z[0]


def _by_i(z: Complex[V]) -> Complex[V]:
    return z[1], -z[0]


def _finished(*parts: Real[V]) -> tuple[Real[V], ...]:
    """x - (+0) is x, but for a NaN, which becomes canonical (NUM-4)."""
    return tuple(x - 0.0 for x in parts)


def _infinite(x: Real[V]) -> Real[V]:
    return abs(x).equals(math.inf)


def _one_of(sign: Real[V]) -> Real[V]:
    """1 with this sign."""
    return sign.lift(1.0)("copysign", sign)


def _real(x: Real[V]) -> Complex[V]:
    return x, x.lift(0.0)


# ---- CPX-2, CPX-3 ----


def add(z: Complex[V], w: Complex[V]) -> Complex[V]:
    return z[0] + w[0], z[1] + w[1]


def sub(z: Complex[V], w: Complex[V]) -> Complex[V]:
    return z[0] - w[0], z[1] - w[1]


def mul(z: Complex[V], w: Complex[V]) -> Complex[V]:
    (a, b), (c, d) = z, w
    return a * c - b * d, a * d + b * c


def neg(z: Complex[V]) -> Complex[V]:
    return -z[0], -z[1]


def conj(z: Complex[V]) -> Complex[V]:
    return z[0], -z[1]


def select(condition: tuple[Real[V]], z: Complex[V], w: Complex[V]) -> Complex[V]:
    return where(condition[0], z[0], w[0]), where(condition[0], z[1], w[1])


def eq(z: Complex[V], w: Complex[V]) -> tuple[Real[V]]:
    return (z[0].equals(w[0]) & z[1].equals(w[1]),)


def ne(z: Complex[V], w: Complex[V]) -> tuple[Real[V]]:
    return (z[0]("ne", w[0]) | z[1]("ne", w[1]),)


def maximum(z: Complex[V], w: Complex[V]) -> Complex[V]:
    """CPX-14."""
    return _chosen("gt", z, w)


def minimum(z: Complex[V], w: Complex[V]) -> Complex[V]:
    """CPX-14."""
    return _chosen("lt", z, w)


def _chosen(beats: str, z: Complex[V], w: Complex[V]) -> Complex[V]:
    """z where it beats w in lexicographic order, else w."""
    (a, b), (c, d) = z, w
    return select((a(beats, c) | (a.equals(c) & b(beats, d)),), z, w)


def is_finite(z: Complex[V]) -> tuple[Real[V]]:
    return (z[0]("is_finite") & z[1]("is_finite"),)


def integer_pow(z: Complex[V], exponent: int) -> Complex[V]:
    """ELT-9 with CPX-3's product and CPX-4's quotient."""
    one = _real(z[0].lift(1.0))
    power, q, acc = z, exponent if exponent > 0 else -exponent, None
    while q > 0:
        if q & 1:
            acc = power if acc is None else mul(acc, power)
        q >>= 1
        if q > 0:
            power = mul(power, power)
    if acc is None:
        return one
    return div(one, acc) if exponent < 0 else acc


# ---- CPX-4: quotients ----


def div(z: Complex[V], w: Complex[V]) -> Complex[V]:
    (a, b), (c, d) = z, w
    of = a.by
    # Infinite operands as Annex G has them: of z and not w the result is infinite, of w and not z zero.
    zero_w = c.equals(0.0) & d.equals(0.0)
    over_z, over_w = _infinite(a) | _infinite(b), _infinite(c) | _infinite(d)
    a1, b1 = (where(over_z, _unit(x), x) for x in (a, b))
    c1, d1 = (where(over_w, _unit(x), x) for x in (c, d))
    scale = where(over_z, math.inf, 1.0) * where(over_w, 0.0, 1.0)
    # Into the middle of the exponents, by powers of two.
    most_z, most_w = abs(a1)("max", abs(b1)), abs(c1)("max", abs(d1))
    large, small, up = of(2.0**126, 2.0**1022), of(2.0**-102, 2.0**-969), of(2.0**47, 2.0**105)
    by_z = where(most_z >= large, 0.5, where(most_z <= small, up, 1.0))
    by_w = where(most_w >= large, 0.5, where(most_w <= small, up, 1.0))
    a1, b1, c1, d1 = a1 * by_z, b1 * by_z, c1 * by_w, d1 * by_w
    # Smith's quotient: the larger part of w is p.
    c_larger = abs(c1) >= abs(d1)
    p, q = where(c_larger, c1, d1), where(c_larger, d1, c1)
    u, v = where(c_larger, a1, b1), where(c_larger, b1, a1)
    r = q / p
    t = p + q * r
    lost = r.equals(0.0)  # q / p may have underflowed
    e = (u + where(lost, q * (v / p), v * r)) / t
    f = (v - where(lost, q * (u / p), u * r)) / t
    f = where(c_larger, f, -f)
    scale = scale * (by_w / by_z)
    return where(zero_w, a / c, e * scale), where(zero_w, b / c, f * scale)


def _unit(x: Real[V]) -> Real[V]:
    """±1 for an infinity, else ±0."""
    return where(_infinite(x), 1.0, 0.0)("copysign", x)


# ---- CPX-5: the magnitude ----


@dataclass(frozen=True)
class _Scaled(Generic[V]):
    """A complex number times a power of two, and its magnitude."""

    x: Real[V]
    y: Real[V]
    size: Real[V]
    large: Real[V]
    small: Real[V]

    def choose(self, large: float, small: float, else_: float) -> Real[V]:
        return where(self.large, large, where(self.small, small, else_))


def _scaled(z: Complex[V]) -> _Scaled[V]:
    x, y = z
    most = abs(x)("max", abs(y))
    large, small = most >= x.by(2.0**62, 2.0**500), most < x.by(2.0**-50, 2.0**-400)
    by = where(large, x.by(2.0**-70, 2.0**-600), where(small, x.by(2.0**100, 2.0**700), 1.0))
    u, v = x * by, y * by
    size = (u * u + v * v)("sqrt")
    return _Scaled(u, v, where(_infinite(x) | _infinite(y), math.inf, size), large, small)


def absolute(z: Complex[V]) -> tuple[Real[V]]:
    s = _scaled(z)
    return (s.size * s.choose(z[0].by(2.0**70, 2.0**600), z[0].by(2.0**-100, 2.0**-700), 1.0),)


def sign(z: Complex[V]) -> Complex[V]:
    s = _scaled(z)
    zero = s.size.equals(0.0)
    return where(zero, z[0], s.x / s.size), where(zero, z[1], s.y / s.size)


# ---- CPX-6: square roots ----


def sqrt(z: Complex[V]) -> Complex[V]:
    x, y = z
    s = _scaled(z)
    back = s.choose(x.by(2.0**35, 2.0**300), x.by(2.0**-50, 2.0**-350), 1.0)
    t = ((abs(s.x) + s.size) * 0.5)("sqrt")
    main, other = t * back, (abs(s.y) / (t + t)) * back
    right = x >= 0.0
    re, im = where(right, main, other), where(right, other, main)("copysign", y)
    zero, over = s.size.equals(0.0), _infinite(y)
    return where(zero, 0.0, where(over, math.inf, re)), where(zero | over, y, im)


def rsqrt(z: Complex[V]) -> Complex[V]:
    return div(_real(z[0].lift(1.0)), sqrt(z))


# ---- CPX-7: exponentials ----


def _spiral(function: str, limit: float, x: Real[V], y: Real[V]) -> Complex[V]:
    """function(x) (cos y + i sin y); beyond the limit function(x/2) twice, so that only the product overflows."""
    beyond = x > limit
    e = where(beyond, x * 0.5, x)(function)
    f = where(beyond, e, 1.0)
    re, im = (e * y("cos")) * f, where(y.equals(0.0), y, (e * y("sin")) * f)
    no_angle = ~y("is_finite")
    re = where(no_angle & x.equals(math.inf), math.inf, re)
    nothing = no_angle & x.equals(-math.inf)
    return where(nothing, 0.0, re), where(nothing, 0.0, im)


def exp(z: Complex[V]) -> Complex[V]:
    return _spiral("exp", z[0].by(88.0, 709.0), *z)


def exp2(z: Complex[V]) -> Complex[V]:
    return _spiral("exp2", z[0].by(127.0, 1023.0), z[0], z[1] * _LN2)


def expm1(z: Complex[V]) -> Complex[V]:
    x, y = z
    re, im = exp(z)
    half = (y * 0.5)("sin")
    near = x("expm1") * y("cos") - 2.0 * (half * half)
    return where(x > x.by(88.0, 709.0), re, near), im


def logistic(z: Complex[V]) -> Complex[V]:
    """1 / (1 + e^-z), or e^z / (1 + e^z) on the left: e^-|Re z| does not overflow."""
    left = z[0] < 0.0
    e = exp((where(left, z[0], -z[0]), where(left, z[1], -z[1])))
    return div((where(left, e[0], 1.0), where(left, e[1], 0.0)), (1.0 + e[0], e[1]))


# ---- CPX-8: logarithms ----


def _log_abs(z: Complex[V]) -> Real[V]:
    x, y = z
    s = _scaled(z)
    far = s.size("log") + s.choose(x.by(70 * _LN2, 600 * _LN2), x.by(-100 * _LN2, -700 * _LN2), 0.0)
    most, least = abs(x)("max", abs(y)), abs(x)("min", abs(y))
    near = 0.5 * ((most - 1.0) * (most + 1.0) + least * least)("log1p")
    return where((most >= 0.5) & (most <= 1.5), near, far)


def log(z: Complex[V]) -> Complex[V]:
    return _log_abs(z), z[1]("atan2", z[0])


def log1p(z: Complex[V]) -> Complex[V]:
    x, y = z
    near = 0.5 * (x * (x + 2.0) + y * y)("log1p")
    one_more = 1.0 + x
    return where(abs(x)("max", abs(y)) < 0.5, near, _log_abs((one_more, y))), y("atan2", one_more)


def power(z: Complex[V], w: Complex[V]) -> Complex[V]:
    """|z|^c e^(-d arg z), with the angle c arg z + d log |z|, where w = c + id."""
    (c, d), (size,) = w, absolute(z)
    angle = z[1]("atan2", z[0])
    turn = c * angle + where(d.equals(0.0), 0.0, d * _log_abs(z))
    radius = size("pow", c) * (-(d * angle))("exp")
    re, im = radius * turn("cos"), where(turn.equals(0.0), turn, radius * turn("sin"))
    one, zero = c.equals(0.0) & d.equals(0.0), size.equals(0.0) & (c > 0.0)
    return where(one, 1.0, where(zero, 0.0, re)), where(one | zero, 0.0, im)


# ---- CPX-9: hyperbolic and circular functions ----


def _hyperbolic(a: Real[V]) -> tuple[Real[V], Real[V], Real[V]]:
    """(sinh a, cosh a, 1), or beyond the limit all three with e^(|a|/2) split off."""
    beyond = abs(a) > a.by(88.0, 709.0)
    e = (abs(a) * 0.5)("exp")
    half = e * 0.5
    return where(beyond, half("copysign", a), a("sinh")), where(beyond, half, a("cosh")), where(beyond, e, 1.0)


def sinh(z: Complex[V]) -> Complex[V]:
    a, b = z
    s, c, f = _hyperbolic(a)
    re, im = (s * b("cos")) * f, (c * b("sin")) * f
    kept = ~b("is_finite") & (a.equals(0.0) | _infinite(a))
    return where(kept, a, re), where(b.equals(0.0), b, im)


def cosh(z: Complex[V]) -> Complex[V]:
    a, b = z
    s, c, f = _hyperbolic(a)
    no_angle = ~b("is_finite")
    re, im = (c * b("cos")) * f, (s * b("sin")) * f
    im = where(no_angle & a.equals(0.0), a, im)
    return where(no_angle & _infinite(a), math.inf, re), where(b.equals(0.0), _one_of(a) * b, im)


def tanh(z: Complex[V]) -> Complex[V]:
    """Kahan's; far from the axis the imaginary part is 4 sin b cos b e^(-2|a|)."""
    a, b = z
    t, s = b("tan"), a("sinh")
    beta, rho = 1.0 + t * t, (1.0 + s * s)("sqrt")
    below = 1.0 + (beta * s) * s
    re, im = ((beta * rho) * s) / below, t / below
    far, no_angle = abs(a) > a.by(20.0, 40.0), ~b("is_finite")
    e = (-abs(a))("exp")
    rest = where(no_angle, b.lift(0.0)("copysign", b), (((4.0 * b("sin")) * b("cos")) * e) * e)
    re = where(no_angle & a.equals(0.0), a, where(far, _one_of(a), re))
    return re, where(b.equals(0.0), b, where(far, rest, im))


def sin(z: Complex[V]) -> Complex[V]:
    return _by_i(sinh(_i_times(z)))


def cos(z: Complex[V]) -> Complex[V]:
    return cosh(_i_times(z))


def tan(z: Complex[V]) -> Complex[V]:
    return _by_i(tanh(_i_times(z)))


# ---- CPX-10: their inverses, after Kahan ----


def _far(z: Complex[V]) -> tuple[Real[V], Real[V]]:
    """Where 1 is nothing beside z^2, and log |2z|."""
    limit = z[0].by(2.0**40, 2.0**60)
    return (abs(z[0]) > limit) | (abs(z[1]) > limit), _log_abs(z) + _LN2


def _roots(z: Complex[V]) -> tuple[Complex[V], Complex[V]]:
    """sqrt(1 - z), sqrt(1 + z)."""
    return sqrt((1.0 - z[0], -z[1])), sqrt((1.0 + z[0], z[1]))


def acos(z: Complex[V]) -> Complex[V]:
    x, y = z
    (a, b), (c, d) = _roots(z)
    far, size = _far(z)
    re = where(far, abs(y)("atan2", x), 2.0 * a("atan2", c))
    return re, where(far, size("copysign", -y), (c * b - d * a)("asinh"))


def asin(z: Complex[V]) -> Complex[V]:
    x, y = z
    (a, b), (c, d) = _roots(z)
    far, size = _far(z)
    re = x("atan2", where(far, abs(y), a * c - b * d))
    return re, where(far, size("copysign", y), (a * d - b * c)("asinh"))


def acosh(z: Complex[V]) -> Complex[V]:
    x, y = z
    (a, b), (c, d) = sqrt((x - 1.0, y)), sqrt((x + 1.0, y))
    far, size = _far(z)
    return where(far, size, (a * c + b * d)("asinh")), where(far, y("atan2", x), 2.0 * b("atan2", c))


def asinh(z: Complex[V]) -> Complex[V]:
    return _by_i(asin(_i_times(z)))


def atanh(z: Complex[V]) -> Complex[V]:
    x = abs(z[0])
    side = _one_of(z[0])
    y = -(side * z[1])
    theta = x.by(2.0**62, 2.0**510)
    far = (x > theta) | (abs(y) > theta)
    height = abs(y) + 1 / theta
    below = 1.0 - x
    re = 0.25 * ((4.0 * x) / (below * below + height * height))("log1p")
    im = 0.5 * (2.0 * y)("atan2", below * (1.0 + x) - height * height)
    at_one = x.equals(1.0)
    re = where(at_one, ((4.0 + y * y)("sqrt")("sqrt") / height("sqrt"))("log"), re)
    im = where(at_one, 0.5 * (_HALF_PI + height("atan2", 2.0))("copysign", y), im)
    pole = at_one & y.equals(0.0)
    re = where(far, abs(div(_real(x.lift(1.0)), (x, y))[0]), where(pole, math.inf, re))
    im = where(far & y.equals(y), y.lift(_HALF_PI)("copysign", y), where(pole, y, im))
    return side * re, -(side * im)


def atan(z: Complex[V]) -> Complex[V]:
    return _by_i(atanh(_i_times(z)))


Formula = Callable[..., tuple]
MOVES: dict[str, Formula] = {
    "neg": neg, "conj": conj, "select": select, "real": lambda z: z[:1], "imag": lambda z: z[1:],
    "complex": lambda x, y: (x[0], y[0]), "max": maximum, "min": minimum,
}  # fmt: skip
"""Formulas that keep the bits of NaNs (NUM-5, MOVE-1)."""
FORMULAS: dict[str, Formula] = {
    **MOVES, "add": add, "sub": sub, "mul": mul, "square": lambda z: mul(z, z), "div": div, "eq": eq, "ne": ne,
    "is_finite": is_finite, "integer_pow": integer_pow, "abs": absolute, "sign": sign, "sqrt": sqrt, "rsqrt": rsqrt,
    "exp": exp, "exp2": exp2, "expm1": expm1, "logistic": logistic, "log": log, "log1p": log1p, "pow": power,
    "sinh": sinh, "cosh": cosh, "tanh": tanh, "sin": sin, "cos": cos, "tan": tan, "asin": asin, "acos": acos,
    "atan": atan, "asinh": asinh, "acosh": acosh, "atanh": atanh,
}  # fmt: skip
"""name -> formula; each operand and the result is the tuple of its real parts: two, or one of what is real."""


def compose(name: str, operands: list[tuple[Real[V], ...]], exponent: int | None = None) -> tuple[Real[V], ...]:
    """The parts of an operation's result."""
    formula = FORMULAS[name]
    parts = formula(*operands) if exponent is None else formula(*operands, exponent)
    if name in MOVES or name in ("eq", "ne", "is_finite"):
        return parts
    return _finished(*parts)


def is_complex(dtype: np.dtype) -> bool:
    """Whether the contract has arithmetic for this complex dtype."""
    return dtype in (np.complex64, np.complex128)


def part_dtype(dtype: np.dtype) -> np.dtype:
    """float32 of complex64, float64 of complex128."""
    return np.dtype(np.float32 if dtype == np.complex64 else np.float64)


def whole_dtype(dtype: np.dtype) -> np.dtype:
    """complex64 of float32, complex128 of float64."""
    return np.dtype(np.complex64 if dtype == np.float32 else np.complex128)
