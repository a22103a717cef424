"""Checks the native f32 functions on all 2^32 inputs against the correctly rounded values (clause FUN-1).

python bench/exhaustive_f32.py [--functions exp,log] [--isa avx512] [--jobs 2]

For each input a float64 value y of the function, from NumPy's or the C library's own code (errors of a few units of
2^-53), decides the float32 wherever y (1 - 2^-44) and y (1 + 2^-44) round to the same; that margin is 100 times what
those libraries can be off. The few thousand inputs that are left are decided by mpmath in 300 bits. Prints one line
per function, and the inputs that are wrong as "x y" in hex words, as native/kernels/inner/math_exceptions.h lists them.
"""

import argparse
import math
import multiprocessing
import os
import sys
import time
from collections.abc import Callable
from ctypes import c_int64, c_void_p
from typing import Any

import mpmath
import numpy as np

BLOCK = 1 << 14
"""Inputs at a time: their arrays stay in cache, and NumPy's calls cost little beside them."""
NAN = 0x7FC00000
MARGIN = 2.0**-44
FLOAT32 = 11  # enum sb_dtype


def native_function(name: str) -> Callable[[np.ndarray], np.ndarray]:
    """One function of the library, over contiguous float32."""
    from samebits.native._library import check, library, opcode

    op = opcode(name)

    def call(x: np.ndarray) -> np.ndarray:
        y = np.empty_like(x)
        words = [1, x.size, 1, FLOAT32, 1, 1, op, FLOAT32, 0, -1, -1, 0, 1, 1, 1]
        inputs, outputs = (c_void_p * 1)(x.ctypes.data), (c_void_p * 1)(y.ctypes.data)
        check(library().sb_map((c_int64 * len(words))(*words), len(words), inputs, outputs, None))
        return y

    return call


def erf64(x: np.ndarray) -> np.ndarray:
    """erf in float64: the series where it is exact enough, +-1 where float32 is, else the C library's."""
    y = np.where(np.abs(x) < 4.5, x, np.sign(x))
    small = np.abs(x) < 2.0**-10
    z = x[small] ** 2
    y[small] = 2 / math.sqrt(math.pi) * x[small] * (1 - z / 3 + z * z / 10 - z * z * z / 42)
    middle = ~small & (np.abs(x) < 4.5)
    y[middle] = [math.erf(v) for v in x[middle].tolist()]
    return y


def erfc64(x: np.ndarray) -> np.ndarray:
    """erfc in float64: the first terms of its series near 0, 2 and 0 where float32 has these, else the C library's."""
    y = np.where(x > 10.5, 0.0, np.where(x < -4.5, 2.0, x))
    small = np.abs(x) < 2.0**-10
    z = x[small] ** 2
    y[small] = 1 - 2 / math.sqrt(math.pi) * x[small] * (1 - z / 3 + z * z / 10 - z * z * z / 42)
    middle = ~small & (x >= -4.5) & (x <= 10.5)
    y[middle] = [math.erfc(v) for v in x[middle].tolist()]
    return y


FLOAT64: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "exp": np.exp,
    "exp2": np.exp2,
    "expm1": np.expm1,
    "log": np.log,
    "log1p": np.log1p,
    "tanh": np.tanh,
    "logistic": lambda x: 1 / (1 + np.exp(-x)),
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "sin": np.sin,
    "cos": np.cos,
    "erf": erf64,
    "tan": np.tan,
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "asinh": np.arcsinh,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
    "cbrt": np.cbrt,
    "erfc": erfc64,
}
EXACT = {
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
    "tan": mpmath.tan,
    "asin": mpmath.asin,
    "acos": mpmath.acos,
    "atan": mpmath.atan,
    "sinh": mpmath.sinh,
    "cosh": mpmath.cosh,
    "asinh": mpmath.asinh,
    "acosh": mpmath.acosh,
    "atanh": mpmath.atanh,
    "cbrt": lambda x: mpmath.sign(x) * mpmath.cbrt(abs(x)),
    "erfc": mpmath.erfc,
}


def decide(name: str, x: float) -> np.float32:
    """The correctly rounded value, by mpmath."""
    with mpmath.workprec(300):
        value = EXACT[name](mpmath.mpf(x))
        exponent = max(mpmath.mag(value) - 24, -149)  # of the last place of float32
        units: Any = mpmath.nint(mpmath.ldexp(value, -exponent))  # nearest even, as float32 rounds
        return np.float32(math.ldexp(int(units), exponent))


def check_range(name: str, start: int, stop: int) -> tuple[int, list[tuple[int, int]]]:
    """How many inputs of words [start, stop) mpmath had to decide, and the wrong ones with their right values."""
    native, reference = native_function(name), FLOAT64[name]
    decided, wrong = 0, []
    offsets, words = np.arange(BLOCK, dtype=np.uint32), np.empty(BLOCK, np.uint32)
    x, wide, scaled, end = words.view(np.float32), np.empty(BLOCK), np.empty(BLOCK), np.empty(BLOCK, np.float32)
    with np.errstate(all="ignore"):
        for first in range(start, stop, BLOCK):
            np.add(offsets, np.uint32(first), out=words)
            got = native(x).view(np.uint32)
            np.copyto(wide, x)
            y = reference(wide)
            doubtful = np.zeros(BLOCK, np.bool_)  # not equal to both ends of the interval
            for factor in (1 - MARGIN, 1 + MARGIN):
                np.multiply(y, factor, out=scaled)
                np.copyto(end, scaled, casting="same_kind")
                doubtful |= end.view(np.uint32) != got
            if not doubtful.any():
                continue
            doubtful &= ~(np.isnan(y) & (got == NAN))
            for i in np.flatnonzero(doubtful):
                right = np.float32(np.nan)
                if not np.isnan(y[i]):
                    low, right = np.float32(y[i] * (1 - MARGIN)), np.float32(y[i] * (1 + MARGIN))
                    if low != right:
                        decided += 1
                        right = decide(name, float(x[i]))
                if (word := int(right.view(np.uint32))) != got[i]:
                    wrong.append((int(words[i]), word))
    return decided, wrong


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--functions", default=",".join(FLOAT64))
    parser.add_argument("--isa")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    options = parser.parse_args()
    if options.isa:
        os.environ["SAMEBITS_ISA"] = options.isa
    os.environ["SAMEBITS_THREADS"] = "1"
    failed = False
    step = 1 << 26
    with multiprocessing.Pool(options.jobs) as pool:
        for name in options.functions.split(","):
            begin = time.perf_counter()
            parts = pool.starmap(check_range, [(name, i, i + step) for i in range(0, 1 << 32, step)], chunksize=1)
            decided, wrong = sum(d for d, _ in parts), [w for _, ws in parts for w in ws]
            failed |= bool(wrong)
            seconds = time.perf_counter() - begin
            print(
                f"{name:9s} 2^32 inputs, {decided} decided by mpmath, misrounded {len(wrong)}, {seconds:.0f} s",
                flush=True,
            )
            for x, y in wrong[:200]:
                print(f"    {{{x:#010x}, {y:#010x}}},", flush=True)
    sys.exit(failed)


if __name__ == "__main__":
    main()
