"""sb_program_*: each kind of step, scratch, hostile words. sb_copy."""

import ctypes
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from samebits._errors import NativeError
from samebits.native._library import check, library
from samebits.native._program import MAGIC
from tests.native.maps import Map, Op, addresses, constant, int64s, map_words, number, same, strides

MAP, DOT, REDUCE, CUMULATIVE, SCATTER, COPY, CONV, WINDOW = range(8)  # enum sb_step_kind
F32 = number("float32")


class Words:
    """A program's words; buffers are given by number: arguments, results, scratch."""

    def __init__(self, arguments, results, scratch=()):
        self.head = [MAGIC, len(arguments), len(results), len(scratch)]
        self.sizes = [*arguments, *results, *scratch]
        self.steps = []

    def step(self, kind, operands, words):
        pairs = [w for o in operands for w in (o if isinstance(o, tuple) else (o, 0))]
        self.steps.append([kind, len(pairs) // 2, *pairs, len(words), *words])
        return self

    @property
    def words(self):
        return [*self.head, len(self.steps), *self.sizes, *(w for s in self.steps for w in s)]


def new(words):
    handle = library().sb_program_new(int64s(words), len(words))
    if not handle:
        raise NativeError(library().sb_error().decode())
    return handle


def call(words, buffers):
    handle = new(words)
    try:
        check(library().sb_program_run(handle, addresses(buffers), None))
    finally:
        library().sb_program_free(handle)


def padded(row):
    return [*row, *[0] * (8 - len(row))]


def copy_words(item, shape, source, target):
    return [item, len(shape), *padded(shape), *padded(source), *padded(target)]


def dense(shape):
    return strides(np.empty(shape, np.int8))


def add(shape, name="add"):
    """The words of a map of two dense float32 arrays."""
    x = np.empty(shape, np.float32)
    return map_words(Map([x, x], [Op(name, "float32", (0, 1))], [2], shape), [x])


def everything():
    """A program with each kind of step over 3 x 4 arrays, its buffers and what the results must be."""
    rng = np.random.default_rng(1)
    a, b = rng.integers(-4, 5, (2, 3, 4)).astype(np.float32)
    index = np.array([2, 0, 2, 7], np.int32)
    p = Words([48, 48, 16], [36, 12, 48, 16, 48], [48, 48])
    p.step(MAP, [0, 1, 8], add((3, 4)))
    p.step(COPY, [8, 9], copy_words(4, [4, 3], [1, 4], [3, 1]))
    p.step(DOT, [0, 9, 3], [F32, F32, 1, 3, 3, 4, 0, 4, 1, 0, 3, 1, 0, 3, 1])
    p.step(REDUCE, [8, 4], [0, F32, F32, 1, *padded([3]), *padded([4]), 1, *padded([4]), *padded([1])])
    p.step(CUMULATIVE, [8, 5], [0, F32, 0, 1, *padded([3]), *padded([4]), *padded([4]), 4, 1, 1])
    p.step(SCATTER, [(0, 16), 2, (1, 32), 6], [0, F32, number("int32"), 4, 4, 1])
    p.step(MAP, [8, 8, 9], add((3, 4), "mul"))
    p.step(MAP, [9, 1, 7], add((3, 4)))
    s = a + b
    scattered = a[1].copy()
    for i, u in zip(index, b[2], strict=True):
        if i < 4:
            scattered[i] += u
    return p.words, [a, b, index], [a @ s.T, s.sum(1), np.cumsum(s, 1, dtype=np.float32), scattered, s * s + b]


def test_each_kind_of_step():
    words, arguments, wanted = everything()
    results = [np.full_like(w, 99) for w in wanted]
    call(words, [*arguments, *results])
    for got, want in zip(results, wanted, strict=True):
        np.testing.assert_array_equal(got, want)


def conv_words(batch, channels, columns, image, kernel, pad=0):
    """A square 2-D convolution of dense arrays, NCHW and OIHW."""
    out = image + 2 * pad - kernel + 1
    rows = [[image] * 2, [kernel] * 2, [out] * 2, [1] * 2, [pad] * 2, [1] * 2, [1] * 2]
    steps = [[n * s * s, n * s * s, s * s, s, 1, 0] for n, s in ((channels, image), (channels, kernel), (columns, out))]
    steps[1] = [0, *steps[1][1:]]  # w: group, out channel, in channel, spatial
    return [
        F32,
        F32,
        2,
        batch,
        1,
        channels,
        columns,
        *(v for r in rows for v in (*r, 0)),
        *(v for r in steps for v in r),
    ]


def test_a_convolution_is_a_step():
    rng = np.random.default_rng(2)
    x, w = rng.integers(-4, 5, (2, 3, 5, 5)).astype(np.float32), rng.integers(-4, 5, (4, 3, 3, 3)).astype(np.float32)
    out = np.full((2, 4, 5, 5), 99, np.float32)
    p = Words([x.nbytes, w.nbytes], [out.nbytes], [out.nbytes])
    p.step(CONV, [0, 1, 3], conv_words(2, 3, 4, 5, 3, pad=1))
    p.step(MAP, [3, 3, 2], add(out.shape))
    call(p.words, [x, w, out])
    patches = np.lib.stride_tricks.sliding_window_view(np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1))), (3, 3), (2, 3))
    np.testing.assert_array_equal(out, 2 * np.einsum("ncijkl,ockl->noij", patches, w))


@pytest.mark.parametrize(("sizes", "message"), [
    ([599, 432, 800], "operand 0 reaches from byte 0 to 600 of buffer 0, which has 599"),
    ([600, 431, 800], "operand 1 reaches from byte 0 to 432 of buffer 1"),
    ([600, 432, 799], "operand 2 reaches from byte 0 to 800 of buffer 2"),
])  # fmt: skip
def test_a_convolution_outside_its_buffers_is_refused(sizes, message):
    p = Words(sizes[:2], sizes[2:])
    p.step(CONV, [0, 1, 2], conv_words(2, 3, 4, 5, 3, pad=1))
    with pytest.raises(NativeError, match=message):
        new(p.words)
    p = Words([600, 432], [800]).step(CONV, [0, 1, 2], conv_words(2, 3, 4, 5, 3, pad=1)[:-1])
    with pytest.raises(NativeError, match="has 45 words where 46 are wanted"):
        new(p.words)


def test_one_program_runs_on_many_threads_at_once():
    words, arguments, wanted = everything()
    handle = new(words)

    def once(_):
        results = [np.empty_like(w) for w in wanted]
        check(library().sb_program_run(handle, addresses([*arguments, *results]), None))
        return all(np.array_equal(g, w) for g, w in zip(results, wanted, strict=True))

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(once, range(200)))
    library().sb_program_free(handle)


@settings(max_examples=60)
@given(st.data())
def test_scratch_is_shared_and_never_too_early(data):
    """A chain of adds through many scratch buffers of different sizes, read again at random later steps."""
    n_scratch = data.draw(st.integers(1, 12))
    sizes = [data.draw(st.sampled_from([4, 40, 400, 4000])) for _ in range(n_scratch)]
    x = np.arange(1000, dtype=np.float32)
    p = Words([4000], [4000], [max(s, 4) for s in sizes])
    value = []
    for i, size in enumerate(sizes):
        n = size // 4
        known = [j for j in range(i) if sizes[j] >= size]
        other = data.draw(st.sampled_from([None, *known]))
        p.step(MAP, [0, 0 if other is None else 2 + other, 2 + i], add((n,)))
        value.append(x[:n] + (x[:n] if other is None else value[other][:n]))
    wanted = np.zeros(1000, np.float32)
    p.step(MAP, [0, 0, 1], add((1000,), "sub"))
    order = data.draw(st.lists(st.integers(0, n_scratch - 1), max_size=20))
    for i in order:
        n = sizes[i] // 4
        p.step(MAP, [1, 2 + i, 1], add((n,)))
        wanted[:n] += value[i]
    result = np.empty(1000, np.float32)
    call(p.words, [x, result])
    assert same(result, wanted)


def test_scratch_of_a_large_chain_is_two_buffers():
    """60 scratch buffers of 64 MiB would be 4 GiB; two are alive at a time."""
    n, count = 1 << 24, 60
    p = Words([4 * n], [4], [4 * n] * count)
    x = np.ones(n, np.float32)
    one = Map([x], [Op("neg", "float32", (0,))], [1], (n,))
    for i in range(count):
        p.step(MAP, [0 if i == 0 else 1 + i, 2 + i], map_words(one, [x]))
    p.step(COPY, [1 + count, 1], copy_words(4, [1], [0], [0]))
    code = (
        "import resource, numpy as np; from tests.native.test_program import call\n"
        "resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))\n"
        f"r = np.zeros(1, np.float32); call({p.words}, [np.ones({n}, np.float32), r]); assert r[0] == 1"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


# ---- copies ----


@settings(max_examples=300)
@given(st.data())
def test_copy_is_numpy(data):
    item = data.draw(st.sampled_from([1, 2, 4, 8, 16]))
    dtype = np.dtype("complex128") if item == 16 else np.dtype(f"u{item}")
    shape = tuple(
        data.draw(
            st.lists(st.sampled_from([0, 1, 2, 3, 5, 17, 33, 100]), max_size=4).filter(
                lambda s: np.prod(s, dtype=int) <= 20000
            )
        )
    )

    def lay(repeat):
        order = data.draw(st.permutations(range(len(shape))))
        kinds = [data.draw(st.sampled_from("ddrs" + "b" * repeat)) for _ in shape]
        base = [1 if k == "b" else 2 * n if k == "s" else n for k, n in zip(kinds, shape, strict=True)]
        x = np.random.default_rng(1).integers(0, 255, int(np.prod(base, dtype=int))).astype(dtype)
        x = x.reshape([base[i] for i in order]).transpose(np.argsort(order))
        x = x[(*(slice(None, None, {"r": -1, "s": 2}.get(k, 1)) for k in kinds), ...)]
        return np.broadcast_to(x, shape) if repeat else x

    source, target = lay(True), lay(False)
    words = copy_words(item, shape, strides(source), strides(target))
    check(library().sb_copy(int64s(words), source.ctypes.data, target.ctypes.data, None))
    np.testing.assert_array_equal(target, source)


@pytest.mark.parametrize("order", [(1, 0), (0, 1)])
def test_large_copy(order):
    x = np.arange(3000 * 2000, dtype=np.float32).reshape(3000, 2000).transpose(order)
    y = np.empty_like(x, order="C")
    words = copy_words(4, x.shape, strides(x), strides(y))
    check(library().sb_copy(int64s(words), x.ctypes.data, y.ctypes.data, None))
    assert same(x, y)


# ---- what is refused ----


def refusal(words):
    with pytest.raises(NativeError) as caught:
        library().sb_program_free(new(words))
    return str(caught.value)


def test_bad_programs_are_refused():
    good = Words([48, 48], [48]).step(MAP, [0, 1, 2], add((3, 4)))
    call(good.words, list(np.ones((3, 3, 4), np.float32)))
    assert "SB_PROGRAM_MAGIC" in refusal([1, 2, 3])
    assert "SB_PROGRAM_MAGIC" in refusal([])
    assert "words end inside" in refusal(good.words[:-1])
    assert "left over" in refusal([*good.words, 0])
    for operands, message in [
        ([0, 1, 3], "names buffer 3; there are 3"),
        ([0, 1], "has 2 operands where 3 are wanted"),
        ([0, 1, 1], "writes buffer 1, an argument"),
        ([0, 2, 2], "reads buffer 2 before any step has written it"),
        ([(0, 4), 1, 2], "reaches from byte 4 to 52 of buffer 0, which has 48"),
        ([(0, 2), 1, 2], "a multiple of the item size 4"),
        ([(0, -4), 1, 2], "begins at byte -4"),
    ]:
        assert message in refusal(Words([48, 48], [48]).step(MAP, operands, add((3, 4))).words)
    assert "kind 77" in refusal(Words([48], [48]).step(77, [0, 1], []).words)
    assert "step 0: sb_copy: item_size is 3" in refusal(
        Words([48], [48]).step(COPY, [0, 1], copy_words(3, [1], [0], [0])).words
    )
    assert "the descriptor has 1 words" in refusal(Words([48], [48]).step(COPY, [0, 1], [3]).words)
    assert "overlap" in refusal(Words([48], [48]).step(COPY, [0, 1], copy_words(4, [3], [1], [0])).words)
    twice = Words([48], [96]).step(COPY, [0, (1, 0)], copy_words(4, [12], [1], [1]))
    call(
        twice.step(COPY, [(1, 0), (1, 48)], copy_words(4, [12], [1], [1])).words,
        [np.ones(12, np.float32), np.ones(24, np.float32)],
    )
    assert "overlaps output operand" in refusal(twice.step(COPY, [(1, 4), (1, 8)], copy_words(4, [12], [1], [1])).words)
    assert "more than any machine" in refusal(
        Words([48], [48], [1 << 60]).step(COPY, [0, 2], copy_words(4, [1], [1], [1])).words
    )


def test_a_program_may_work_in_place_where_the_view_is_the_same():
    p = Words([48, 48], [48]).step(MAP, [0, 1, 2], add((3, 4))).step(MAP, [2, 1, 2], add((3, 4), "mul"))
    a, b = np.full((2, 3, 4), 3, np.float32)
    out = np.zeros((3, 4), np.float32)
    call(p.words, [a, b, out])
    assert (out == 18).all()


def examples():
    """Valid programs to be spoiled, with the sizes of their buffers."""
    words, *_ = everything()
    yield words
    x = np.ones((10, 7), np.float32)
    ops = [Op("sqrt", "float32", (0,)), constant(np.float32(2)), Op("integer_pow", "float32", (2,), 3),
           Op("gt", "float32", (0, 3)), Op("select", "float32", (5, 4, 1)),
           Op("convert", "float32", (6,), number("bfloat16"))]  # fmt: skip
    shown = Map([x, np.broadcast_to(x[0], x.shape)], ops, [7, 5, 4], x.shape)
    outs = [np.empty(x.shape, shown.dtype_of(v)) for v in shown.outputs]
    yield Words([280, 28], [140, 70, 280]).step(MAP, [0, 1, 2, 3, 4], map_words(shown, outs)).words
    yield blocks_of_rows()[0]


def blocks_of_rows():
    """A program that is run in blocks of rows (frame/rows.cc): a maximum, a map, a sum, a map."""
    rows, n = 900, 80
    x, out = np.ones((rows, n), np.float32), np.empty((rows, n), np.float32)
    each = np.broadcast_to(np.ones((rows, 1), np.float32), x.shape)
    sub = map_words(Map([x, each], [Op("sub", "float32", (0, 1))], [2], x.shape), [out])
    reduce = [F32, F32, 1, *padded([rows]), *padded([n]), 1, *padded([n]), *padded([1])]
    p = Words([x.nbytes], [x.nbytes], [4 * rows, x.nbytes, 4 * rows])
    p.step(REDUCE, [0, 2], [2, *reduce]).step(MAP, [0, 2, 3], sub)
    return p.step(REDUCE, [3, 4], [0, *reduce]).step(MAP, [3, 4, 1], sub).words, x, out


def test_blocks_of_rows():
    words, x, out = blocks_of_rows()
    x += np.arange(900, dtype=np.float32)[:, None] + np.arange(80, dtype=np.float32)
    call(words, [x, out])
    d = x - x.max(1, keepdims=True)
    np.testing.assert_array_equal(out, d - d.sum(1, keepdims=True))


INTERESTING = [0, 1, -1, 2, 3, 4, 7, 8, 9, 11, 12, 13, 64, 255, 1 << 16, 1 << 31, 1 << 32, 1 << 58, 1 << 61, 1 << 62,
               (1 << 63) - 1, -(1 << 63), -(1 << 62), -8, 1000]  # fmt: skip


def spoiled(rng, words):
    words = list(words)
    for _ in range(rng.integers(1, 4)):
        kind, at = rng.integers(0, 8), int(rng.integers(1, len(words)))
        if kind < 4:
            words[at] = INTERESTING[rng.integers(0, len(INTERESTING))]
        elif kind < 6:
            words[at] = max(-(1 << 63), min((1 << 63) - 1, int(words[at]) + int(rng.integers(-2, 3))))
        elif kind == 6:
            del words[at : at + rng.integers(1, 9)]
        else:
            words[at:at] = words[int(rng.integers(0, len(words))) :][: rng.integers(1, 9)]
        if len(words) < 2:
            break
    return words


def attack(count, seed):
    """Runs spoiled programs that are accepted, on guarded buffers; returns how many were accepted and refused."""
    rng = np.random.default_rng(seed)
    accepted = refused = 0
    originals = list(examples())
    for _ in range(count):
        words = spoiled(rng, originals[rng.integers(0, len(originals))])
        handle = library().sb_program_new(int64s(words), len(words))
        if not handle:
            assert library().sb_error()
            refused += 1
            continue
        accepted += 1
        n_args, n_results = words[1], words[2]
        sizes = words[5 : 5 + n_args + n_results]
        if sum(sizes) + sum(words[5 + n_args + n_results : 5 + n_args + n_results + words[3]]) <= 1 << 22:
            guarded = [np.full(s + 256, 0x5A, np.uint8) for s in sizes]
            before = [g.copy() for g in guarded]
            buffers = (ctypes.c_void_p * max(1, len(sizes)))(*(g.ctypes.data + 128 for g in guarded))
            library().sb_program_run(handle, buffers, None)
            for i, (g, b) in enumerate(zip(guarded, before, strict=True)):
                untouched = np.arange(g.size) if i < n_args else np.r_[0:128, 128 + sizes[i] : g.size]
                assert (g[untouched] == b[untouched]).all(), words
        library().sb_program_free(handle)
    return accepted, refused


def test_hostile_words_never_crash():
    accepted, refused = attack(3000, seed=1)
    assert accepted > 100
    assert refused > 1000


@pytest.mark.parametrize("kind", range(6))
def test_random_words_are_refused(kind):
    rng = np.random.default_rng(kind)
    for n in range(0, 40, 3):
        p = Words([48, 48], [48]).step(kind, [0, 1, 2], [int(w) for w in rng.integers(-(1 << 62), 1 << 62, n)])
        assert refusal(p.words).startswith("sb_program_new: step 0")
