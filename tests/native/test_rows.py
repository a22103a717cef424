"""sb_norm at every alignment and what it refuses; fused rows in a host's threads and modes, after a fork."""

import ctypes
import os

import ml_dtypes
import numpy as np
import pytest

from samebits import native
from samebits._errors import NativeError
from samebits.native import _rows
from samebits.native._arrays import number, words
from samebits.native._library import check, library
from tests.native.hosts import flushing, lent

F32 = number(np.dtype(np.float32))
X = np.random.default_rng(0).standard_normal((300, 577)).astype(np.float32)
G, B = X[0].copy(), X[1].copy()


def placed(x, offset):
    """A copy of x that begins so many bytes after a cache line, with nothing of it in the lines around."""
    room = np.full(x.nbytes + 192, 0x5A, np.uint8)
    start = -room.ctypes.data % 64 + 64 + offset
    out = room[start : start + x.nbytes].view(x.dtype).reshape(x.shape)
    out[...] = x
    return room, out


@pytest.mark.parametrize("dtype", [np.float32, np.float64, ml_dtypes.bfloat16])
def test_alignment_moves_no_bit_and_nothing_else_is_written(dtype):
    x, g, b = (a.astype(dtype) for a in (X[:5, :37], G[:37], B[:37]))
    wanted = native.layer_norm(x, g, b)
    for offset in range(0, 64, x.itemsize):
        _, here = placed(x, offset)
        _, scale = placed(g, 60 // x.itemsize * x.itemsize - offset % 60 // x.itemsize * x.itemsize)
        room, out = placed(np.zeros_like(x), offset)
        out[...] = 0
        before = room.copy()
        d = words(number(x.dtype), number(x.dtype), 1, int(np.float64(1e-5).view(np.int64)), 5, 37, 37, 37)
        args = (here.ctypes.data, scale.ctypes.data, b.ctypes.data, out.ctypes.data)
        check(library().sb_norm(d, *args, None))
        assert out.tobytes() == wanted.tobytes(), offset
        at = out.ctypes.data - room.ctypes.data
        assert (room[:at] == before[:at]).all()
        assert (room[at + out.nbytes :] == before[at + out.nbytes :]).all()


def everything():
    """Bytes of fused rows that are large enough to be cut into blocks and shared out."""
    u = X[::-1].copy()
    made = [native.softmax(X), native.log_softmax_vjp(X, u), native.layer_norm(X, G, B), *native.rms_norm_vjp(X, u, G)]
    return b"".join(a.tobytes() for a in made)


@pytest.mark.filterwarnings("ignore")  # other tests of this process may have started JAX, which minds the fork
def test_after_a_fork_and_with_a_flushing_host():
    wanted = everything()
    with flushing():
        assert everything() == wanted
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(write, b"same" if everything() == wanted else b"moved")
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as said:
        assert said.read() == b"same"
    os.waitpid(child, 0)


def test_threads_that_a_host_lends():
    wanted = native.softmax(X)
    call = _rows.calls.softmax(X)
    layouts = ((X.dtype, X.shape, (577, 1)),)
    program = _rows.compile_rows(call.rule, (), layouts, call.dtypes, 1, 1, ())
    out, normed = np.zeros_like(X), np.zeros_like(X)
    d = words(F32, F32, 0, int(np.float64(1e-6).view(np.int64)), 300, 577, 577, 577)
    for threads in (1, 2, 3, 7):
        with lent(threads) as executor:
            buffers = (ctypes.c_void_p * 2)(X.ctypes.data, out.ctypes.data)
            check(library().sb_program_run(program.handle, buffers, executor))
            check(library().sb_norm(d, X.ctypes.data, G.ctypes.data, None, normed.ctypes.data, executor))
        assert out.tobytes() == wanted.tobytes()
        assert normed.tobytes() == native.rms_norm(X, G).tobytes()


@pytest.mark.parametrize(("changed", "message"), [
    ({0: number(np.dtype(np.int32))}, "dtype 3 is no float"),
    ({1: number(np.dtype(np.float64))}, "scale_dtype 12 does not go with dtype 11"),
    ({4: -1}, "-1 rows of 37"),
    ({7: 36}, "rows of 37 overlap"),
    ({6: 1 << 60}, "an offset of an operand does not fit"),
    ({5: 1 << 61, 7: 1 << 62}, "does not fit"),
])  # fmt: skip
def test_what_sb_norm_refuses(changed, message):
    d = words(F32, F32, 1, 0, 5, 37, 37, 37)
    for place, value in changed.items():
        d[place] = value
    with pytest.raises(NativeError, match=message):
        check(library().sb_norm(d, X.ctypes.data, None, None, X.ctypes.data, None))
    with pytest.raises(NativeError, match="x is NULL"):
        check(library().sb_norm(words(F32, F32, 1, 0, 5, 37, 37, 37), None, None, None, X.ctypes.data, None))


def test_programs_are_kept():
    _rows.compile_rows.cache_clear()
    for _ in range(3):
        native.softmax(X)
    assert _rows.compile_rows.cache_info()[:2] == (2, 1)
    native.softmax(X[:, ::2])
    assert _rows.compile_rows.cache_info().misses == 2
