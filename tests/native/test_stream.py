"""Results so large that they are stored past the caches have the bits of their parts, computed one by one."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from samebits import native
from samebits.native._arrays import number, words
from samebits.native._library import check, library

ROOT = Path(__file__).parents[2]
ROWS, N = 11_001, 577  # 25 MB, of rows of which none but the first begins on a register
PART = 500


def placed(x, offset):
    """Room for a result like x, so many bytes after a cache line."""
    room = np.full(x.nbytes + 128, 0x5A, np.uint8)
    start = -room.ctypes.data % 64 + offset
    return room, room[start : start + x.nbytes].view(x.dtype).reshape(x.shape)


def in_parts(function, x):
    return np.concatenate([function(x[i : i + PART]) for i in range(0, len(x), PART)])


def check_all(columns):
    """Raises AssertionError where a whole is not its parts, or something beside it was written."""
    x = np.random.default_rng(0).standard_normal((ROWS * N // columns, columns)).astype(np.float32)
    x[3, ::2] = np.nan
    x[5] = -np.inf
    for function in (native.softmax, native.log_softmax, native.silu):
        assert function(x).tobytes() == in_parts(function, x).tobytes(), function
    g, b = x[0].copy(), x[1].copy()
    wanted = in_parts(lambda rows: native.layer_norm(rows, g, b), x)
    eps = int(np.float64(1e-5).view(np.int64))
    d = words(number(x.dtype), number(x.dtype), 1, eps, len(x), columns, columns, columns)
    for offset in (0, 4, 32):
        room, out = placed(x, offset)
        check(library().sb_norm(d, x.ctypes.data, g.ctypes.data, b.ctypes.data, out.ctypes.data, None))
        assert out.tobytes() == wanted.tobytes(), offset
        at = out.ctypes.data - room.ctypes.data
        assert (room[:at] == 0x5A).all()
        assert (room[at + out.nbytes :] == 0x5A).all()


@pytest.mark.parametrize("isa", native.isas())
def test_a_large_result_is_its_parts(isa):
    code = f"from tests.native.test_stream import check_all; check_all({N}); check_all(64)"
    done = subprocess.run(
        [sys.executable, "-c", code], env=os.environ | {"SAMEBITS_ISA": isa, "SAMEBITS_THREADS": "3"},
        cwd=ROOT, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
