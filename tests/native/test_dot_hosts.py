"""sb_dot has the twin's bits whatever its host does: threads, forks, flushing, addresses, padding (DOT-*, ZERO-1)."""

import json
import os
import subprocess
import sys
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from samebits import bits, native
from samebits.native._library import library
from tests.native import products

ROOT = Path(__file__).parents[2]
DTYPES = [np.float32, np.float64, ml_dtypes.bfloat16, np.float16]


@pytest.fixture(scope="module")
def right():
    """The twin's digest of all products."""
    return products.digest(products.twin())


@pytest.mark.parametrize("threads", [1, 2, 3, 7])
@pytest.mark.parametrize("isa", ["generic", "avx2", "avx512"])
def test_every_host(isa, threads, right):
    if isa not in native.isas():
        pytest.skip(f"this CPU has no {isa}")
    done = subprocess.run(
        [sys.executable, "-W", "ignore::DeprecationWarning", "-m", "tests.native.products"],
        env=os.environ | {"SAMEBITS_ISA": isa, "SAMEBITS_THREADS": str(threads)},
        cwd=ROOT, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert said.keys() == products.CONDITIONS.keys()
    assert {name: digest for name, digest in said.items() if digest != right} == {}


def test_negative_control_the_digest_sees_another_order(right, monkeypatch):
    """The same terms of one product in another order, and one product flushed by the host, are another digest."""
    one = products.Product("float32", 40, 100, 5000)
    a, b = products.OPERANDS[one]
    turned = a.reshape(40, 5000)[:, ::-1].ravel().copy(), b.reshape(5000, 100)[::-1].ravel().copy()
    monkeypatch.setitem(products.OPERANDS, one, turned)
    assert products.digest(library().sb_dot) != right
    monkeypatch.setitem(products.OPERANDS, one, (a, b))
    assert products.digest(library().sb_dot) == right
    tiny = next(p for p in products.PRODUCTS if p.tiny and p.dtype == "float32")
    a, b = (x.view(np.float32).copy() for x in products.OPERANDS[tiny])
    with products.flushing():
        flushed = a.reshape(tiny.m, tiny.k) @ b.reshape(tiny.k, tiny.n)
    exact = a.reshape(tiny.m, tiny.k).astype(float) @ b.reshape(tiny.k, tiny.n).astype(float)
    assert np.abs(flushed - exact).max() > 2.0**-140


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
def test_every_address_in_a_cache_line(dtype):
    """Each operand in turn at each offset, then all three at offsets of their own; nothing beside out is written."""
    item = np.dtype(products.WORDS[dtype]).itemsize
    shifts = range(64 // item)
    apart = [(s, (s * 5 + 3) % len(shifts), (s * 3 + 1) % len(shifts)) for s in shifts]
    each = [tuple(s if i == which else 0 for i in range(3)) for which in range(3) for s in shifts]
    for m, n, k in [(1, 40, 300), (5, 17, 31), (33, 70, 65)]:
        for transposed in (False, True):
            product = products.Product(dtype, m, n, k, transposed=transposed)
            given = (*product.operands(), product.output())
            expected = product.output()
            assert products.twin()(product.descriptor(), *(x.ctypes.data for x in (*given[:2], expected)), None) == 0
            for offsets in {*each, *apart}:
                raw = [np.full(x.nbytes + 192, 0xA5, np.uint8) for x in given]
                begins = [-r.ctypes.data % 64 + 64 + o * item for r, o in zip(raw, offsets, strict=True)]
                for r, begin, x in zip(raw, begins, given, strict=True):
                    r[begin : begin + x.nbytes] = x.view(np.uint8)
                addresses = [r.ctypes.data + begin for r, begin in zip(raw, begins, strict=True)]
                assert library().sb_dot(product.descriptor(), *addresses, None) == 0
                out, begin = raw[2], begins[2]
                assert out[begin : begin + expected.nbytes].tobytes() == expected.tobytes(), (product, offsets)
                assert (out[:begin] == 0xA5).all()
                assert (out[begin + expected.nbytes :] == 0xA5).all()


def test_every_byte_address_through_numpy():
    """Arrays that begin between two elements are no case of the C ABI: samebits.native copies them."""
    x, w = np.random.default_rng(0).standard_normal((2, 9, 40)).astype(np.float32)
    whole = native.matmul(x, w.T)
    for shift in range(64):
        raw = np.zeros(x.nbytes + 64, np.uint8)
        moved = raw[shift : shift + x.nbytes].view(np.float32).reshape(x.shape)
        moved[...] = x
        assert bits.same(native.matmul(moved, w.T), whole)
        assert bits.same(native.matmul(w, moved.T), whole.T)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("k", [1, 100, 256, 511, 1030])
def test_trailing_zeros_are_invisible(dtype, k):
    """Zeros of both signs behind either factor, for as many terms as reach other levels of the tree."""
    rng = np.random.default_rng(k)
    a, b = rng.standard_normal((7, k)).astype(dtype), rng.standard_normal((k, 19)).astype(dtype)
    whole = native.matmul(a, b)
    for more in (1, 255, 257, 1500):
        zeros = np.where(rng.random((7, more)) < 0.5, -0.0, 0.0).astype(dtype)
        others = rng.standard_normal((more, 19)).astype(dtype)
        assert bits.same(native.matmul(np.hstack([a, zeros]), np.vstack([b, others])), whole)
        assert bits.same(native.matmul(np.vstack([b, others]).T, np.hstack([a, zeros]).T), whole.T)
    # Control: in front they move the terms to other chunks (ZERO-2), which shows where there are several.
    if k > 256 and np.dtype(dtype).itemsize > 2:
        front = native.matmul(np.hstack([zeros[:, :5], a]), np.vstack([others[:5], b]))
        assert not bits.same(front, whole)
