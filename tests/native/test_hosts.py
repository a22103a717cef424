"""Products of every kind have the twin's bits whatever their host does: threads, forks, flushing, addresses, zeros."""

import ctypes
import json
import os
import subprocess
import sys
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from samebits import bits, native
from tests.native import calls, hosts

ROOT = Path(__file__).parents[2]
DTYPES = [np.float32, np.float64, ml_dtypes.bfloat16, np.float16]


@pytest.fixture(scope="module")
def right():
    """The digest of the twins."""
    return hosts.digest(twin=True)


@pytest.mark.parametrize("threads", [1, 2, 3, 7])
@pytest.mark.parametrize("isa", native.isas())
def test_every_host(isa, threads, right):
    done = subprocess.run(
        [sys.executable, "-W", "ignore::DeprecationWarning", "-m", "tests.native.hosts"],
        env=os.environ | {"SAMEBITS_ISA": isa, "SAMEBITS_THREADS": str(threads)},
        cwd=ROOT, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert said.keys() == hosts.CONDITIONS.keys()
    assert {name: digest for name, digest in said.items() if digest != right} == {}


def kinds_that_differ(one, other):
    pairs = zip(one.split(", "), other.split(", "), strict=True)
    return [a.split()[0] for a, b in pairs if a != b]


@pytest.mark.parametrize("kind", calls.KINDS)
def test_negative_control_the_digest_sees_last_bits(kind, right, monkeypatch):
    """Of some elements of one operand of one call of each kind."""
    call = max(calls.KINDS[kind], key=lambda call: call.output().size)
    a, b = hosts.OPERANDS[call]
    changed = a.copy()
    changed[::7] ^= 1
    monkeypatch.setitem(hosts.OPERANDS, call, (changed, b))
    assert kinds_that_differ(hosts.digest(), right) == [kind]
    monkeypatch.setitem(hosts.OPERANDS, call, (a, b))
    assert hosts.digest() == right


def test_negative_control_the_digest_sees_another_order(right, monkeypatch):
    """The same terms of one product in another order are another digest."""
    one = calls.Dot("float32", 40, 100, 5000)
    a, b = hosts.OPERANDS[one]
    turned = a.reshape(40, 5000)[:, ::-1].ravel().copy(), b.reshape(5000, 100)[::-1].ravel().copy()
    monkeypatch.setitem(hosts.OPERANDS, one, turned)
    assert kinds_that_differ(hosts.digest(), right) == ["dot"]


@pytest.mark.parametrize("kind", calls.KINDS)
def test_negative_control_a_host_that_flushes_changes_bits(kind):
    """NumPy's products of the operands are others on a thread that flushes: the calls have subnormals to lose."""
    tiny = [call for call in calls.KINDS[kind] if getattr(call, "tiny", False) and call.dtype == "float32"]
    assert tiny
    for call in tiny:
        a, b = (x.view(np.float32)[:2000].copy() for x in hosts.OPERANDS[call])
        with hosts.flushing():
            flushed = np.multiply.outer(a, b)
        assert np.abs(flushed - np.multiply.outer(a.astype(float), b.astype(float))).max() > 2.0**-140


LARGE = {
    "dot": calls.Dot("float32", 40, 100, 5000),
    "pack": calls.Packed("float32", 1, 2000, 200),
    "packed": calls.Packed("float32", 100, 110, 100),
    "partials": calls.Joined("float32", 110, 110, 300, cuts=(256,)),
    "join": calls.Joined("float32", 800, 700, 1, tiny=True),
    "conv": calls.Conv("float32", 3, 1, 33, 70, 12, 3, tiny=True),
}


@pytest.mark.parametrize("name", LARGE)
def test_large_calls_ask_for_threads(name):
    """A host is asked for the threads it lends; the bits are right even if it runs their tasks too late."""
    cap = native.threads() if os.environ.get("SAMEBITS_THREADS") else 3
    call, given = LARGE[name], []
    executor = hosts.Executor(None, 3, hosts.Submit(lambda _host, task, arg: given.append((task, arg))))
    (a, b), out, right = call.operands(), call.output(), call.output()
    assert call.ours(a.ctypes.data, b.ctypes.data, out.ctypes.data, ctypes.addressof(executor)) == 0
    assert len(given) >= min(3, cap) - 1
    for task, arg in given:
        hosts.Task(task)(arg)
    assert call.twin(a.ctypes.data, b.ctypes.data, right.ctypes.data) == 0
    assert np.array_equal(out, right)


def test_small_calls_ask_for_no_threads():
    asked = []
    executor = hosts.Executor(None, 3, hosts.Submit(lambda *_: asked.append(1)))
    for call in (calls.Dot("float32", 8, 8, 8), calls.Joined("float32", 8, 8, 300, cuts=(256,)),
                 calls.Conv("float32", 1, 1, 8, 8, 4, 3)):  # fmt: skip
        (a, b), out = call.operands(), call.output()
        assert call.ours(a.ctypes.data, b.ctypes.data, out.ctypes.data, ctypes.addressof(executor)) == 0
    assert asked == []


def every_address():
    """Small calls of each kind, each with operands whose rows do and do not fill whole vectors."""
    for dtype in ("float32", "float64", "bfloat16"):
        for m, n, k in [(1, 40, 300), (5, 17, 31), (33, 70, 65)]:
            for transposed in (False, True):
                yield calls.Dot(dtype, m, n, k, transposed=transposed)
        for transposed in (False, True):
            yield calls.Packed(dtype, 3, 230, 31, transposed=transposed)
            yield calls.Packed(dtype, 33, 70, 65, transposed=transposed)
            yield calls.Joined(dtype, 5, 17, 300, transposed=transposed, cuts=(256,))
        for last in (False, True):
            yield calls.Conv(dtype, 1, 1, 5, 17, 6, 3, last=last)
            yield calls.Conv(dtype, 1, 33, 1, 1, 5, 3, last=last)
            yield calls.Conv(dtype, 1, 1, 16, 17, 4, 1, last=last)


@pytest.mark.parametrize("call", [*every_address()], ids=str)
def test_every_address_in_a_cache_line(call):
    """Each operand in turn at each offset, then all three at offsets of their own; nothing beside out is written."""
    item = np.dtype(calls.WORDS[call.dtype]).itemsize
    shifts = range(64 // item)
    apart = [(s, (s * 5 + 3) % len(shifts), (s * 3 + 1) % len(shifts)) for s in shifts]
    each = [tuple(s if i == which else 0 for i in range(3)) for which in range(3) for s in shifts]
    given = (*call.operands(), call.output())
    expected = call.output()
    assert call.twin(*(x.ctypes.data for x in (*given[:2], expected))) == 0
    for offsets in {*each, *apart}:
        raw = [np.full(x.nbytes + 192, 0xA5, np.uint8) for x in given]
        begins = [-r.ctypes.data % 64 + 64 + o * item for r, o in zip(raw, offsets, strict=True)]
        for r, begin, x in zip(raw, begins, given, strict=True):
            r[begin : begin + x.nbytes] = x.view(np.uint8)
        addresses = [r.ctypes.data + begin for r, begin in zip(raw, begins, strict=True)]
        assert call.ours(*addresses) == 0
        out, begin = raw[2], begins[2]
        assert out[begin : begin + expected.nbytes].tobytes() == expected.tobytes(), offsets
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
