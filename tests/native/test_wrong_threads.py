"""SAMEBITS_THREADS that is no number of threads: each call large enough to ask for threads gives the same error."""

import os
import subprocess
import sys

from samebits.native._library import library_path

CODE = """
import ctypes, sys
import numpy as np
lib = ctypes.CDLL(sys.argv[1])
lib.sb_error.restype = ctypes.c_char_p
lib.sb_pack.restype = ctypes.c_void_p
n = 1 << 21
x, y = np.ones((2, n), np.float32)
at = np.zeros(n, np.int64)
F32, I64 = 11, 4


def words(*values):
    return (ctypes.c_int64 * len(values))(*values)


def pointers(*arrays):
    return (ctypes.c_void_p * len(arrays))(*(a.ctypes.data for a in arrays))


def p(a):
    return ctypes.c_void_p(a.ctypes.data)


row, none = [n] + 7 * [0], 8 * [0]
one = [1] + 7 * [0]
square = words(F32, F32, 1, 1024, 1024, 1024, 0, 1024, 1, 0, 1024, 1, 0, 1024, 1)
product = words(F32, F32, 1, 128, 128, 128, 0, 128, 1, 0, 128, 1, 0, 128, 1)
weights = words(F32, 0, 1, 128, 128, 0, 128, 1)
image = words(F32, F32, 2, 1, 1, 16, 16, 64, 64, 0, 3, 3, 0, 62, 62, 0, 1, 1, 0, 0, 0, 0, 1, 1, 0, 1, 1, 0,
              0, 0, 4096, 64, 1, 0, 0, 144, 9, 3, 1, 0, 0, 0, 3844, 62, 1, 0)
elementwise = words(1, n, 1, F32, 1, 2, lib.sb_op_find(b"mul"), F32, 0, 0, -1, 0, lib.sb_op_find(b"exp"), F32, 1, -1,
                    -1, 0, 1, 2, 1)


def pack():
    return 0 if lib.sb_pack(words(F32, 0, 1, 1024, 2048, 0, 2048, 1), p(x), None) else -1


def dot_packed():
    packed = lib.sb_pack(weights, p(x), None)  # small: asks for no threads
    assert packed, lib.sb_error()
    return lib.sb_dot_packed(product, p(x), ctypes.c_void_p(packed), p(y), None)


calls = {
    "threads": lambda: lib.sb_threads() - 1,
    "dot": lambda: lib.sb_dot(square, p(x), p(x), p(y), None),
    "pack": pack,
    "dot_packed": dot_packed,
    "partials": lambda: lib.sb_dot_partials(square, ctypes.c_int64(0), p(x), p(x), p(y), ctypes.c_int64(1 << 20), None),
    "conv": lambda: lib.sb_conv(image, p(x), p(x), p(y), None),
    "join": lambda: lib.sb_join_partials(words(F32, F32, 256, n), 1, words(0, 256), pointers(x), p(y), None),
    "reduce": lambda: lib.sb_reduce(words(0, F32, F32, 0, *none, *none, 1, *row, *one), p(x), p(y), None),
    "cumulative": lambda: lib.sb_cumulative(
        words(0, F32, 0, 1, 1024, *none[1:], 2048, *none[1:], 2048, *none[1:], 2048, 1, 1), p(x), p(y), None),
    "scatter": lambda: lib.sb_scatter(words(0, F32, I64, n, n, 1), p(x), p(at), p(x), p(y), None),
    "copy": lambda: lib.sb_copy(words(4, 1, *row, *one, *one), p(x), p(y), None),
    "map": lambda: lib.sb_map(elementwise, len(elementwise), pointers(x), pointers(y), None),
}
for name, call in calls.items():
    status = call()
    print(name, status, lib.sb_error().decode() if status else "")
"""


def said(threads):
    done = subprocess.run(
        [sys.executable, "-c", CODE, str(library_path())],
        env=os.environ | {"SAMEBITS_THREADS": threads}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return {line.split()[0]: line.split(maxsplit=1)[1].strip() for line in done.stdout.splitlines()}


def test_each_call_says_so():
    for threads in ("many", "0", "-2"):
        lines = said(threads)
        assert len(lines) == 12
        expected = f"-1 SAMEBITS_THREADS={threads} is not a number of threads; give an integer from 1 to 4096"
        assert {name: line for name, line in lines.items() if not line.startswith(expected)} == {}


def test_control_a_number_is_right():
    lines = said("2")
    assert lines.pop("threads").startswith("1")
    assert set(lines.values()) == {"0"}
