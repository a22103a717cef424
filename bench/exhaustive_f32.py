"""Checks the native f32 functions on all 2^32 inputs against the correctly rounded values (clause FUN-1).

python bench/exhaustive_f32.py [--functions exp,log] [--isa avx512] [--jobs 2]

For each input a float64 value y of the function, from NumPy's or the C library's own code (errors of a few units of
2^-53), decides the float32 wherever y (1 - 2^-44) and y (1 + 2^-44) round to the same; that margin is 100 times what
those libraries can be off. The few thousand inputs that are left are decided by mpmath in 300 bits. Prints one line
per function, and the inputs that are wrong as "x y" in hex words, as native/kernels/inner/math_exceptions.h lists them.
"""

import argparse
import multiprocessing
import os
import sys
import time
from collections.abc import Callable
from ctypes import c_int64, c_void_p

import numpy as np
from oracle import FLOAT64, NAN32, TWO, decide32

BLOCK = 1 << 14
"""Inputs at a time: their arrays stay in cache, and NumPy's calls cost little beside them."""
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
            doubtful &= ~(np.isnan(y) & (got == NAN32))
            for i in np.flatnonzero(doubtful):
                right = np.float32(np.nan)
                if not np.isnan(y[i]):
                    low, right = np.float32(y[i] * (1 - MARGIN)), np.float32(y[i] * (1 + MARGIN))
                    if low != right:
                        decided += 1
                        right = decide32(name, float(x[i]))
                if (word := int(right.view(np.uint32))) != got[i]:
                    wrong.append((int(words[i]), word))
    return decided, wrong


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--functions", default=",".join(n for n in FLOAT64 if n not in TWO))
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
