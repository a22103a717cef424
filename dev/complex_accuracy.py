"""How far complex functions are from the true value: the table in spec/order.md (CPX), against mpmath.

    python dev/complex_accuracy.py [operands]

For each function and format: the largest error of the whole, |w - f(z)| / |f(z)| in units of 2^-24 (2^-53), over
operands of many sizes, near the axes, the unit circle and 1, and the share of results off by more than 2.
"""

import sys

import mpmath
import numpy as np

from samebits import order

RNG = np.random.Generator(np.random.PCG64(5))
FUNCTIONS = ("abs sqrt rsqrt exp exp2 expm1 log log1p logistic sinh cosh tanh sin cos tan asin acos atan asinh acosh "
             "atanh").split()  # fmt: skip
TRUE = {
    "abs": mpmath.fabs, "rsqrt": lambda z: 1 / mpmath.sqrt(z), "exp2": lambda z: mpmath.power(2, z),
    "logistic": lambda z: 1 / (1 + mpmath.exp(-z)), "log1p": lambda z: mpmath.log(1 + z),
    "expm1": lambda z: mpmath.exp(z) - 1, "mul": lambda z, w: z * w, "div": lambda z, w: z / w, "pow": mpmath.power,
}  # fmt: skip


def operands(n: int, dtype: type, reach: int) -> np.ndarray:
    """Numbers of sizes within 2^±reach, a third of them near 1, the circle or the imaginary axis."""
    part = dtype(0).real.dtype
    size = np.exp2(RNG.uniform(-reach, reach, n))
    z = size * np.exp(2j * np.pi * RNG.random(n))
    z = np.where(RNG.random(n) < 0.3, np.real(z) * np.exp2(RNG.uniform(-20, 0, n)) + 1j * np.imag(z), z)
    circle = np.exp(2j * np.pi * RNG.random(n)) * (1 + np.exp2(RNG.uniform(-20, -2, n)))
    one = 1 + circle * np.exp2(RNG.uniform(-20, -1, n))
    kind = RNG.random(n)
    z = np.where(kind < 0.15, circle, np.where(kind < 0.3, one, z))
    return order.complex(np.real(z).astype(part), np.imag(z).astype(part))


def errors(name: str, *z: np.ndarray) -> np.ndarray:
    got, true = getattr(order, name)(*z), TRUE.get(name) or getattr(mpmath, name)
    unit = 2.0**-24 if z[0].dtype == np.complex64 else 2.0**-53
    tiny = 2.0**-126 if z[0].dtype == np.complex64 else 2.0**-1022
    found = []
    for w, *at in zip(got.ravel(), *(x.ravel() for x in z), strict=True):
        exact = true(*(mpmath.mpmathify(complex(x)) for x in at))
        size = mpmath.fabs(exact)
        if tiny / unit < size < 1 / tiny and np.isfinite(w):
            found.append(float(mpmath.fabs(mpmath.mpmathify(complex(w)) - exact) / size) / unit)
    return np.array(found)


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    with mpmath.workprec(200):
        table(count)


def table(count: int) -> None:
    print("| function | complex64 | complex128 |\n|---|---|---|")
    for name in ("mul", "div", *FUNCTIONS, "pow"):
        row = []
        for dtype in (np.complex64, np.complex128):
            reach = {"mul": 30, "div": 30, "abs": 60, "sqrt": 60, "rsqrt": 60, "log": 60}.get(name, 6)
            z = [operands(count, dtype, reach) for _ in range(2 if name in ("mul", "div", "pow") else 1)]
            if name == "pow":
                z[1] = z[1] / 16
            try:
                e = errors(name, *z)
            except (AttributeError, NotImplementedError) as error:
                row.append(f"({error})")
                continue
            row.append(f"{e.max():.1f} ({(e > 2).mean():.1%})")
        print(f"| {name} | {' | '.join(row)} |", flush=True)


if __name__ == "__main__":
    main()
