"""Complex formulas against mpmath and C99's Annex G; what real operations are missing comes from NumPy (CPX)."""

import cmath
import math
from dataclasses import dataclass

import mpmath
import numpy as np
import pytest

from samebits import order
from samebits.order._complex import FORMULAS, Real, compose, part_dtype
from samebits.order._parts import _NAMES, joined, parts_of

NUMPY = {"atan2": np.arctan2, "sinh": np.sinh, "cosh": np.cosh, "tan": np.tan, "asinh": np.arcsinh}
WHOLE = {"asin": "arcsin", "acos": "arccos", "atan": "arctan", "asinh": "arcsinh", "acosh": "arccosh",
         "atanh": "arctanh"}  # fmt: skip
# The largest error of the whole that 500 operands may have, in units of 2^-24 or 2^-53.
BOUNDS = {
    "mul": 2, "div": 4, "abs": 2, "sqrt": 3, "rsqrt": 4, "exp": 3, "expm1": 6, "log": 4, "log1p": 5, "logistic": 8,
    "sinh": 4, "cosh": 4, "tanh": 6, "sin": 4, "cos": 4, "tan": 6, "asin": 5, "acos": 5, "atan": 5, "asinh": 5,
    "acosh": 5, "atanh": 5,
}  # fmt: skip
TRUE = {
    "abs": mpmath.fabs, "rsqrt": lambda z: 1 / mpmath.sqrt(z), "log1p": lambda z: mpmath.log(1 + z),
    "expm1": lambda z: mpmath.exp(z) - 1, "logistic": lambda z: 1 / (1 + mpmath.exp(-z)),
    "mul": lambda z, w: z * w, "div": lambda z, w: z / w,
}  # fmt: skip


@dataclass(frozen=True)
class Borrowed:
    """The reference's operations, and NumPy's where it has none yet (rounded once more in float32)."""

    double: bool

    def apply(self, name: str, *operands):
        function = getattr(order, _NAMES.get(name, name), None)
        if function is None:
            wide = [np.asarray(x, np.float64) for x in operands]
            return np.asarray(NUMPY[name](*wide)).astype(operands[0].dtype)
        return function(*operands)

    def constant(self, value):
        return np.array(value, np.float64 if self.double else np.float32)


def evaluated(name, *operands):
    arithmetic = Borrowed(part_dtype(operands[0].dtype) == np.float64)
    with np.errstate(all="ignore"):
        parts = compose(name, [tuple(Real(p, arithmetic) for p in parts_of(z)) for z in operands])
    return joined([p.value for p in parts])


def operands(seed, n, dtype, reach):
    rng = np.random.default_rng(seed)
    turn = np.exp(2j * np.pi * rng.random(n))
    z = np.exp2(rng.uniform(-reach, reach, n)) * turn
    near = turn * (1 + np.exp2(rng.uniform(-20, -2, n)))  # the circle
    kind = rng.random(n)
    z = np.where(kind < 0.2, near, np.where(kind < 0.4, 1 + near * np.exp2(rng.uniform(-20, -1, n)), z))
    return np.where(kind > 0.8, np.real(z) * np.exp2(rng.uniform(-20, 0, n)) + 1j * np.imag(z), z).astype(dtype)


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
@pytest.mark.parametrize("name", BOUNDS)
def test_errors_are_small(name, dtype):
    reach = 30 if name in ("mul", "div", "abs", "sqrt", "rsqrt", "log") else 5
    z = [operands(i, 500, dtype, reach) for i in range(2 if name in ("mul", "div") else 1)]
    got, unit = evaluated(name, *z), 2.0**-24 if dtype == np.complex64 else 2.0**-53
    true = TRUE.get(name) or getattr(mpmath, name)
    with mpmath.workprec(150):
        for w, *at in zip(got.tolist(), *(x.tolist() for x in z), strict=True):
            exact = true(*map(mpmath.mpmathify, at))
            assert mpmath.fabs(w - exact) <= BOUNDS[name] * unit * mpmath.fabs(exact), (at, w, exact)


def grid(values):
    x, y = np.meshgrid(np.array(values), np.array(values))
    return order.complex(x.ravel(), y.ravel())


def agrees(got, wanted):
    """Both NaN, or infinite alike, or about the same with the same sign."""
    if math.isnan(wanted) or math.isnan(got):
        return math.isnan(wanted) and math.isnan(got)
    if math.isinf(wanted) or math.isinf(got):
        return got == wanted
    return math.copysign(1, got) == math.copysign(1, wanted) and math.isclose(got, wanted, rel_tol=1e-12)


@pytest.mark.parametrize("name", ["exp", "log", "sqrt", "sinh", "cosh", "tanh", "asin", "acos", "atan", "asinh",
                                  "acosh", "atanh", "sin", "cos", "tan"])  # fmt: skip
def test_special_values_are_those_of_annex_g(name: str):
    """numpy's, which calls the C library's, where no part of the operand is NaN and C99 leaves no sign open."""
    z = grid([0.0, -0.0, 1.0, -1.0, 0.5, -2.5, math.inf, -math.inf])
    with np.errstate(all="ignore"):
        wanted = getattr(np, WHOLE.get(name, name))(z)
    got = evaluated(name, z)
    kept = 0
    for at, g, w in zip(z.tolist(), got.tolist(), wanted.tolist(), strict=True):
        nan = cmath.isnan(w)
        for a, b in ((g.real, w.real), (g.imag, w.imag)):
            if nan and not math.isnan(b):  # beside a NaN C99 leaves signs open
                a, b = abs(a), abs(b)
            if name == "exp" and at.real == -math.inf and math.isinf(at.imag):
                a, b = abs(a), abs(b)
            assert agrees(a, b), (name, at, g, w)
            kept += 1
    assert kept == 2 * z.size


def test_quotients_are_those_of_annex_g():
    z = grid([0.0, -0.0, 1.0, -2.5, math.inf, -math.inf])
    a, b = (x.ravel() for x in np.meshgrid(z, z))
    for x, y, q in zip(a.tolist(), b.tolist(), order.div(a, b).tolist(), strict=True):
        over_x, over_y = cmath.isinf(x), cmath.isinf(y)
        if over_x and not over_y:
            assert cmath.isinf(q), (x, y, q)
        elif over_y and not over_x:
            assert q == 0, (x, y, q)
        elif y == 0 and x != 0:
            assert cmath.isinf(q), (x, y, q)
        elif y == 0 or over_x:
            assert cmath.isnan(q), (x, y, q)
        else:
            assert cmath.isclose(q, x / y, rel_tol=1e-15), (x, y, q)


def test_the_ends_of_the_range():
    """Where the formulas of the textbooks overflow or lose everything."""
    big, tiny = 1.5e308, 5e-324
    z = np.array([complex(big, big), complex(tiny, -tiny), complex(3e-310, 4e-310)])
    assert order.div(z, z).tolist() == [1, 1, 1]
    assert order.abs(z * 0.5).tolist()[0] == pytest.approx(math.hypot(big / 2, big / 2))
    assert order.abs(z)[2] == pytest.approx(5e-310, rel=1e-10)
    for at, root in zip(z.tolist(), order.sqrt(z).tolist(), strict=True):
        assert cmath.isclose(root, cmath.sqrt(at), rel_tol=1e-15)
    got, less = complex(order.exp(np.array(complex(710, 0.8)))), cmath.exp(complex(709, 0.8))  # |e^710| is too large
    assert math.isclose(got.real, less.real * math.e, rel_tol=1e-12)
    assert math.isclose(got.imag, less.imag * math.e, rel_tol=1e-12)
    assert order.sign(z)[0] == pytest.approx(complex(1, 1) / math.sqrt(2))


def test_a_nan_part_is_canonical():
    word = np.array([0xFFF8000000000123, 0x3FF0000000000000], np.uint64)
    z = word.view(complex)
    for name in FORMULAS.keys() - {"neg", "conj", "real", "imag", "select", "complex", "integer_pow", "max", "min"}:
        with np.errstate(all="ignore"):
            two = name in ("add", "sub", "mul", "div", "pow", "eq", "ne")
            got = evaluated(name, *[z] * (2 if two else 1))
        if got.dtype != bool:
            parts = got.view(np.uint64)
            assert set(parts[np.isnan(got.view(float))].tolist()) <= {0x7FF8000000000000}, name
    assert order.conj(z).view(np.uint64)[0] == word[0]
