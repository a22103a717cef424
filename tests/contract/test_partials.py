"""Products whose k axis is split over workers: partials joined along the tree are the whole product (SPLIT-*)."""

# pyright: reportArgumentType=false
# Some tests pass what the types forbid.

import ctypes
import itertools

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from samebits import NativeError, bits, native, order
from samebits.native._library import DTYPES as NAMES, check, library
from samebits.order import CHUNK, Partial
from samebits.order._chunks import subtrees

DTYPES = [np.float32, np.float64, ml_dtypes.bfloat16, np.float16]


def splits(chunks, workers):
    """Every way to give each worker some consecutive chunks, as lists of the chunks at which workers begin and end."""
    for inner in itertools.combinations(range(1, chunks), workers - 1):
        yield [0, *inner, chunks]


def partials_of(module, a, b, bounds):
    """The partials of all workers; bounds in chunks."""
    k = a.shape[-1]
    return [
        partial
        for first, last in itertools.pairwise(bounds)
        for partial in module.matmul_partials(
            a[..., CHUNK * first : min(CHUNK * last, k)], b[..., CHUNK * first : min(CHUNK * last, k), :], CHUNK * first
        )
    ]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("short", [0, 1, 200, 255])
def test_every_split(numbers, dtype, short):
    """1 to 9 chunks, the last one short by some terms, over 1 to 4 workers."""
    for chunks in range(1, 10):
        k = CHUNK * chunks - short
        a, b = numbers(k, (3, k), dtype, 0.001), numbers(k + 1, (k, 5), dtype)
        whole = native.matmul(a, b)
        for workers in range(1, min(chunks, 4) + 1):
            for bounds in splits(chunks, workers):
                joined = native.join_partials(partials_of(native, a, b, bounds), k, dtype)
                assert bits.same(joined, whole), (chunks, bounds)


@settings(max_examples=25, deadline=None)
@given(
    dtype=st.sampled_from(DTYPES), k=st.integers(1, 1300), cuts=st.sets(st.integers(1, 5), max_size=3),
    shapes=st.sampled_from([((2,), (3,)), ((4, 2), (1,)), ((), (0,)), ((2, 1, 3), (7,))]),
    special=st.sampled_from([0, 0, 0.002]), seed=st.integers(0, 99),
)  # fmt: skip
def test_reference_and_kernels_agree(numbers, dtype, k, cuts, shapes, special, seed):
    rows, columns = shapes
    a, b = numbers(seed, (*rows, k), dtype, special), numbers(seed + 1, (k, *columns), dtype, special)
    chunks = -(-k // CHUNK)
    bounds = [0, *sorted(c for c in cuts if c < chunks), chunks]
    theirs, ours = partials_of(order, a, b, bounds), partials_of(native, a, b, bounds)
    assert [(p.start, p.stop, p.chunks) for p in theirs] == [(p.start, p.stop, p.chunks) for p in ours]
    assert all(bits.same(p.values, q.values) for p, q in zip(theirs, ours, strict=True))
    shuffled = [ours[i] for i in np.random.default_rng(seed).permutation(len(ours))]
    whole = order.matmul(a, b)
    assert bits.same(order.join_partials(theirs, k, dtype), whole)
    assert bits.same(native.join_partials(shuffled, k, dtype), whole)
    accumulator = np.float64 if dtype == np.float64 else np.float32
    assert bits.same(native.join_partials(shuffled, k), order.matmul(a, b, out_dtype=accumulator))


def test_vectors_have_partials_too(numbers):
    x, y = numbers(0, 700, np.float32), numbers(1, 700, np.float32)
    for module in (order, native):
        parts = [*module.matmul_partials(x[:512], y[:512]), *module.matmul_partials(x[512:], y[512:], 512)]
        assert bits.same(module.join_partials(parts, 700), order.matmul(x, y))


def test_workers_of_other_instruction_sets(children, numbers):
    """Each worker in a process, with an instruction set and threads, of its own; partials travel as pickles."""
    k = 7 * CHUNK - 9
    a, b = numbers(0, (20, k), ml_dtypes.bfloat16), numbers(1, (k, 30), ml_dtypes.bfloat16)
    bounds = [*[CHUNK * c for c in (0, 1, 4, 5)][: len(children)], k]
    parts = [
        partial
        for child, start, stop in zip(children, bounds, bounds[1:], strict=False)
        for partial in child("matmul_partials", a[:, start:stop], b[start:stop], start)
    ]
    assert bits.same(native.join_partials(parts, k, ml_dtypes.bfloat16), order.matmul(a, b))
    for child in children:
        assert bits.same(child("join_partials", parts[::-1], k), order.matmul(a, b, out_dtype=np.float32))


def test_negative_control_rank_order(numbers):
    """Adding the workers' sums in rank order (psum) is another order, 3 + 3 chunks is not 6, and the tree is."""
    a, b = numbers(0, (50, 6 * CHUNK), np.float32), numbers(1, (6 * CHUNK, 8), np.float32)
    whole, half = native.matmul(a, b), 3 * CHUNK
    assert not bits.same(native.matmul(a[:, :half], b[:half]) + native.matmul(a[:, half:], b[half:]), whole)
    partials = partials_of(native, a, b, [0, 3, 6])
    assert [(p.start // CHUNK, p.chunks) for p in partials] == [(0, 2), (2, 1), (3, 1), (4, 2)]
    total = partials[0].values
    for partial in partials[1:]:
        total = total + partial.values
    assert not bits.same(total, whole)
    assert bits.same(native.join_partials(partials, 6 * CHUNK), whole)


def test_finished_partials_do_no_harm():
    """A partial that has lost the sign of its zero, or another NaN's bits, joins to the same (note on SPLIT-4)."""
    tiny, k = np.float32(1e-30), 3 * CHUNK
    a, b = np.full((2, k), -tiny), np.full((k, 1), tiny)  # every chain underflows to -0
    a[1, 300] = np.uint32(0xFFC12345).view(np.float32)
    whole = order.matmul(a, b)
    assert whole[0, 0].view(np.uint32) == 0
    assert whole[1, 0].view(np.uint32) == 0x7FC00000
    finished = partials_of(native, a, b, [0, 1, 3])
    raw = [Partial(p.start, p.stop, np.where(p.values == 0, -p.values, p.values * np.float32(-1))) for p in finished]
    assert {int(w) for p in raw for w in p.values[0].view(np.uint32)} == {0x80000000}
    for parts in (finished, raw):
        for module in (order, native):
            assert bits.same(module.join_partials(parts, k), whole)


def test_large_joins(children, numbers):
    """Large enough to be split over threads (tests/native/test_hosts.py sees that they are)."""
    k = 5 * CHUNK
    parts = [
        Partial(CHUNK * s, min(CHUNK * e, k), numbers(s, (700, 517), np.float32)) for s, e in ((0, 2), (2, 4), (4, 5))
    ]
    expected = order.join_partials(parts, k)
    assert bits.same(expected, parts[0].values + parts[1].values + parts[2].values)
    for child in children:
        assert bits.same(child("join_partials", parts, k), expected)


ONES = np.ones((2, 3), np.float32)
HALF = Partial(0, 512, ONES)


@pytest.mark.parametrize("module", [order, native], ids=["order", "native"])
@pytest.mark.parametrize(("partials", "k", "error", "message"), [
    ([], 0, ValueError, "got no partials, and so no shape; a product of no terms is zeros"),
    ([HALF], 600, ValueError, r"has no terms \[512, 600\); gather the partials of all workers"),
    ([HALF, Partial(768, 1000, ONES)], 1000, ValueError, r"has no terms \[512, 768\); gather"),
    ([Partial(256, 512, ONES)], 512, ValueError, r"has no terms \[0, 256\)"),
    ([HALF, HALF], 512, ValueError, r"has the terms \[0, 512\) twice; give each once"),
    ([HALF, Partial(256, 512, ONES)], 512, ValueError, r"has the terms \[256, 512\) twice"),
    ([HALF], 256, ValueError, r"has the terms \[0, 512\), but k is 256; give the length of the whole product"),
    ([Partial(0, 300, ONES), Partial(512, 600, ONES)], 600, ValueError, "ends inside a chunk, but k is 600; split"),
    ([Partial(0, 256, ONES), Partial(256, 768, ONES)], 768, ValueError, r"\[256, 768\): it is no aligned subtree"),
    ([Partial(0, 768, ONES)], 768, ValueError, "no aligned subtree, 2.j chunks of 256 that begin at a multiple"),
    ([Partial(-256, 0, ONES)], 0, ValueError, "no aligned subtree"),
    ([Partial(100, 256, ONES)], 256, ValueError, "no aligned subtree"),
    ([Partial(256, 256, ONES)], 256, ValueError, "no aligned subtree"),
    ([HALF, Partial(512, 600, ONES.T)], 600, ValueError, r"values of one shape, got \(2, 3\), \(3, 2\)"),
    ([HALF, Partial(512, 600, ONES.astype(float))], 600, TypeError, "one dtype, got float32, float64; convert"),
    ([Partial(0, 9, ONES.astype(np.float16))], 9, TypeError, "accumulator's dtype, float32 or float64, got float16"),
    ([Partial(0, 9, ONES.astype(int))], 9, TypeError, "got int64"),
])  # fmt: skip
def test_what_cannot_be_joined_is_refused(module, partials, k, error, message):
    with pytest.raises(error, match=message):
        module.join_partials(partials, k)


@pytest.mark.parametrize("module", [order, native], ids=["order", "native"])
def test_other_errors(module):
    with pytest.raises(ValueError, match="begins at term 100, inside a chunk; split k at multiples of 256"):
        module.matmul_partials(ONES, ONES.T, 100)
    with pytest.raises(ValueError, match="begins at term -256"):
        module.matmul_partials(ONES, ONES.T, -256)
    with pytest.raises(ValueError, match=r"contracts k = 3 of \(2, 3\) with k = 2 of \(2, 3\); give the worker's own"):
        module.matmul_partials(ONES, ONES)
    with pytest.raises(TypeError, match="one dtype"):
        module.matmul_partials(ONES, ONES.T.astype(float))
    with pytest.raises(ValueError, match="at least one axis"):
        module.matmul_partials(np.float32(1), ONES)
    with pytest.raises(TypeError, match="joined float32 values are float32, float16 or bfloat16, not float64"):
        module.join_partials([HALF], 512, "float64")
    with pytest.raises(TypeError, match="joined float64 values are float64, not float16"):
        module.join_partials([Partial(0, 512, ONES.astype(float))], 512, "float16")
    with pytest.raises(TypeError, match="out_dtype is 'flot', which is no dtype"):
        module.join_partials([HALF], 512, "flot")
    for start in (256.0, "a", None):
        with pytest.raises(TypeError, match=f"start is {start!r}; give an integer"):
            module.matmul_partials(ONES, ONES.T, start)
    with pytest.raises(TypeError, match=r"k is 512\.0; give an integer"):
        module.join_partials([HALF], 512.0)
    with pytest.raises(TypeError, match=r"takes Partial objects, got ndarray; .* as Partial\(start, stop, values\)"):
        module.join_partials([HALF, ONES], 512)
    with pytest.raises(TypeError, match="takes Partial objects, got int"):
        module.join_partials(5, 512)
    with pytest.raises(TypeError, match=r"terms \[0, 512\.0\); give integers"):
        module.join_partials([Partial(0, 512.0, ONES)], 512)
    assert bits.same(module.join_partials(HALF, 512), ONES)
    assert module.matmul_partials(ONES[:, :0], ONES[:0], 512) == []


# ---- the C ABI, which other callers use without Python ----


def split(start, stop):
    out = (ctypes.c_int64 * 256)()
    count = library().sb_dot_split(start, stop, out)
    assert library().sb_dot_split(start, stop, None) == count
    return count if count < 0 else [(out[2 * i], out[2 * i + 1]) for i in range(count)]


@settings(max_examples=200, deadline=None)
@given(first=st.integers(0, 2**40), terms=st.integers(0, 2**48))
def test_c_splits_as_the_reference_does(first, terms):
    start = CHUNK * first
    assert split(start, start + terms) == [(s.start, s.stop) for s in subtrees(start, start + terms)]


def test_c_computes_and_joins_strided_partials(numbers):
    """Transposed output, a gap between partials; a batch; every other term of a larger array."""
    k, start = 1100, 2 * CHUNK
    a, b = numbers(0, (2, 3, 2 * k), np.float16), numbers(1, (2, k, 4), np.float16)
    desc = (ctypes.c_int64 * 15)(
        NAMES.index("float16"), NAMES.index("float32"), 2, 3, 4, k, 6 * k, 2 * k, 2, 4 * k, 4, 1, 12, 1, 3
    )
    ranges = split(start, start + k)
    out = np.full((len(ranges), 30), np.nan, np.float32)
    status = library().sb_dot_partials(desc, start, a.ctypes.data, b.ctypes.data, out.ctypes.data, 30, None)
    assert status == 0
    for (s, e), values in zip(ranges, out, strict=True):
        own = slice(s - start, e - start)
        expected = native.matmul(a[:, :, ::2][..., own], b[:, own], out_dtype="float32")
        assert bits.same(values[:24].reshape(2, 4, 3).transpose(0, 2, 1), expected)
        assert np.isnan(values[24:]).all()


@pytest.mark.parametrize(("change", "start", "message"), [
    ({1: NAMES.index("float16")}, 0, "sb_dot_partials: out_dtype 9 does not go with dtype 9"),
    ({}, 100, r"sb_dot_split: terms \[100, 104\) do not begin at a multiple of 256"),
    ({5: -1}, 0, "sb_dot_partials: k = -1 terms from 0 on"),
    ({}, 2**63 - 2, "fit 64 bits"),
    ({2: -1}, 0, "size batch = -1 is negative"),
])  # fmt: skip
def test_c_errors_of_a_worker(change, start, message):
    words = [NAMES.index("float16"), NAMES.index("float32"), 1, 1, 1, 4, 4, 4, 1, 4, 1, 1, 1, 1, 1]
    for i, value in change.items():
        words[i] = value
    x = np.zeros(8, np.float32).ctypes.data
    assert library().sb_dot_partials((ctypes.c_int64 * 15)(*words), start, x, x, x, 1, None) == -1
    with pytest.raises(NativeError, match=message):
        check(-1)


@pytest.mark.parametrize(("desc", "ranges", "message"), [
    ((11, 11, 600, 1), [(0, 512)], r"no partial has the terms \[512, 600\); gather"),
    ((11, 11, 600, 1), [(0, 512), (768, 800)], r"no partial has the terms \[512, 768\)"),
    ((11, 11, 512, 1), [(0, 512), (256, 512)], r"two partials have the terms \[256, 512\); give each once"),
    ((11, 11, 256, 1), [(0, 512)], "have 512 terms, but k is 256; give"),
    ((11, 11, 600, 1), [(0, 300), (512, 600)], "ends inside a chunk, but k is 600; split"),
    ((11, 11, 768, 1), [(0, 768)], "no aligned subtree, 2.j chunks of 256"),
    ((11, 11, 0, 1), [(-256, 0)], "no aligned subtree"),
    ((11, 11, 0, 1), [(-(2**63), 2**63 - 1)], "no aligned subtree"),
    ((11, 12, 256, 1), [(0, 256)], "out_dtype 12 does not go with dtype 11"),
    ((12, 10, 256, 1), [(0, 256)], "out_dtype 10 does not go with dtype 12"),
    ((77, 77, 256, 1), [(0, 256)], "does not go with"),
    ((11, 11, 256, -1), [(0, 256)], "size -1 or k 256 is negative"),
])  # fmt: skip
def test_c_errors_of_a_join(desc, ranges, message):
    flat = (ctypes.c_int64 * (2 * len(ranges)))(*(t for r in ranges for t in r))
    x = np.zeros(8)
    pointers = (ctypes.c_void_p * len(ranges))(*[x.ctypes.data] * len(ranges))
    words = (ctypes.c_int64 * 4)(*desc)
    assert library().sb_join_partials(words, len(ranges), flat, pointers, x.ctypes.data, None) == -1
    with pytest.raises(NativeError, match=message):
        check(-1)
    assert library().sb_join_partials((ctypes.c_int64 * 4)(11, 11, 256, 1), 1, (ctypes.c_int64 * 2)(0, 256),
                                      (ctypes.c_void_p * 1)(None), x.ctypes.data, None) == -1  # fmt: skip
    with pytest.raises(NativeError, match="are NULL; pass the array"):
        check(-1)


def test_c_join_of_no_terms_is_zero():
    out = np.full(5, np.nan, np.float32)
    status = library().sb_join_partials((ctypes.c_int64 * 4)(11, 11, 0, 5), 0, None, None, out.ctypes.data, None)
    assert status == 0
    assert not out.view(np.uint32).any()
