"""sb_conv against its scalar twin, bitwise: geometry, strides, dtypes, special values, threads, instruction sets."""

import hashlib
import math
from ctypes import POINTER, c_int32, c_int64, c_void_p
from dataclasses import dataclass, field, replace

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from samebits import native
from samebits.native._library import DTYPES, library
from tests.native.test_dot import WORDS, assert_same_bits, at_the_edge, digest_elsewhere, words

WORK = 200_000  # multiply-adds that the twin may spend on one example
FIELDS = ("in_size", "kernel_size", "out_size", "stride", "pad", "in_dilation", "kernel_dilation")


def functions():
    """The kernel's entry point and the twin's."""
    lib = library()
    lib.sb_ref_conv.restype = c_int32
    lib.sb_ref_conv.argtypes = [POINTER(c_int64), c_void_p, c_void_p, c_void_p, c_void_p]
    return lib.sb_conv, lib.sb_ref_conv


@dataclass
class Layout:
    """How an operand lies in memory: its axes from the outermost (None: in order), gap elements, reversed axes."""

    order: tuple[int, ...] | None = None
    gap: int = 0
    reverse: tuple[int, ...] = ()

    def place(self, shape):
        """Elements of the buffer, offset of the first one, strides."""
        strides, size = [0] * len(shape), 1
        for axis in reversed(self.order or range(len(shape))):
            strides[axis] = size
            size *= shape[axis] + self.gap
        first = 0
        for axis in self.reverse:
            if axis < len(shape):
                first += strides[axis] * max(shape[axis] - 1, 0)
                strides[axis] *= -1
        return size, first, strides


def channels_last(rank):
    """x and out: image, spatial axes, group, channel."""
    return Layout((0, *range(3, 3 + rank), 1, 2))


@dataclass
class Case:
    dtype: str = "float32"
    out_dtype: str = ""
    batch: int = 1
    groups: int = 1
    channels: int = 1  # of a group, as the next
    columns: int = 1
    image: tuple[int, ...] = (1,)
    kernel: tuple[int, ...] = (1,)
    stride: tuple[int, ...] = (1, 1, 1)
    pad: tuple[tuple[int, int], ...] = ((0, 0),) * 3
    in_dilation: tuple[int, ...] = (1, 1, 1)
    kernel_dilation: tuple[int, ...] = (1, 1, 1)
    x: Layout = field(default_factory=Layout)
    w: Layout = field(default_factory=Layout)
    out: Layout = field(default_factory=Layout)
    seed: int = 0
    special: str = ""  # operands that hold arbitrary bits, infinities, NaN: "x", "w", "xw"

    @property
    def out_size(self):
        sizes = []
        for i, (n, k) in enumerate(zip(self.image, self.kernel, strict=True)):
            dilated = (n - 1) * self.in_dilation[i] + 1 if n else 0
            room = sum(self.pad[i]) + dilated - ((k - 1) * self.kernel_dilation[i] + 1 if k else 0)
            sizes.append(max(0, room // self.stride[i] + 1))
        return tuple(sizes)

    @property
    def work(self):
        return (self.batch * self.groups * self.columns * math.prod(self.out_size)
                * max(1, self.channels * math.prod(self.kernel)))  # fmt: skip

    def shapes(self):
        return ((self.batch, self.groups, self.channels, *self.image), (self.groups, self.columns, self.channels,
                *self.kernel), (self.batch, self.groups, self.columns, *self.out_size))  # fmt: skip

    def describe(self, strides):
        rank = len(self.image)
        rows = (self.image, self.kernel, self.out_size, self.stride, [p[0] for p in self.pad], self.in_dilation,
                self.kernel_dilation)  # fmt: skip
        padded = [[*row[:rank], *[-77] * (3 - rank)] for row in rows]  # entries beyond rank are not looked at
        steps = [[*row, *[-77] * (3 - rank)] for row in strides]
        out_dtype = self.out_dtype or self.dtype
        flat = [DTYPES.index(self.dtype), DTYPES.index(out_dtype), rank, self.batch, self.groups, self.channels,
                self.columns, *(v for row in (*padded, *steps) for v in row)]  # fmt: skip
        return (c_int64 * len(flat))(*flat)

    def run(self, function, place=np.copy):
        """The words of the whole output buffer; what the call must not touch stays at a pattern."""
        rng = np.random.default_rng(self.seed)
        places = [lay.place(shape) for lay, shape in zip((self.x, self.w, self.out), self.shapes(), strict=True)]
        x, w = (words(self.dtype, p[0], rng, name in self.special) for name, p in zip("xw", places, strict=False))
        kind = WORDS[self.out_dtype or self.dtype]
        out = np.full(places[2][0], 0x5A5A5A5A5A5A5A5A & np.iinfo(kind).max, kind)
        arrays = [place(a) for a in (x, w, out)]
        pointers = [a.ctypes.data + p[1] * a.itemsize for a, p in zip(arrays, places, strict=True)]
        assert function(self.describe([p[2] for p in places]), *pointers, None) == 0, library().sb_error()
        return arrays[2]


def check(case):
    ours, twin = functions()
    assert_same_bits(case.run(ours), case.run(twin), case)


def drawn(draw, of, rank):
    return tuple(draw(of) for _ in range(rank))


@st.composite
def layouts(draw, rank):
    axes = rank + 3
    kind = draw(st.sampled_from(["plain", "last", "any"]))
    if kind == "last":
        return channels_last(rank)
    return Layout(
        tuple(draw(st.permutations(range(axes)))) if kind == "any" else None,
        draw(st.integers(0, 2)) if kind == "any" else 0,
        tuple(draw(st.sets(st.integers(0, axes - 1)))) if kind == "any" else (),
    )


@st.composite
def cases(draw):
    rank = draw(st.sampled_from([1, 2, 2, 2, 3]))
    dtype = draw(st.sampled_from(["float32", "float32", "float64", "bfloat16", "float16"]))
    narrow = dtype in ("bfloat16", "float16")
    small = st.sampled_from([1, 1, 1, 2, 3])
    shift = st.integers(-2, 4)
    case = Case(
        dtype=dtype,
        out_dtype=draw(st.sampled_from([dtype, "float32"])) if narrow else dtype,
        batch=draw(st.sampled_from([1, 2, 3] * 4 + [0])),
        groups=draw(st.sampled_from([1, 1, 1, 2, 3, 9, 17])),
        channels=draw(st.sampled_from([1, 2, 3, 8, 17, 33, 0])),
        columns=draw(st.sampled_from([1, 2, 3, 8, 17, 33, 70])),
        image=drawn(draw, st.sampled_from([1, 2, 3, 5, 7, 8, 17, 33] * 3 + [0] if rank < 3 else [1, 2, 3, 5]), rank),
        kernel=drawn(draw, st.sampled_from([1, 2, 3, 3, 5] * 3 + [0] if rank > 1 else [1, 2, 3, 7, 100, 257]), rank),
        stride=drawn(draw, small, 3),
        pad=tuple((draw(shift), draw(shift)) for _ in range(3)),
        in_dilation=drawn(draw, small, 3),
        kernel_dilation=drawn(draw, small, 3),
        x=draw(layouts(rank)), w=draw(layouts(rank)), out=draw(layouts(rank)),
        seed=draw(st.integers(0, 9)),
        special=draw(st.sampled_from(["", "", "x", "w", "xw"])),
    )  # fmt: skip
    for name in ("columns", "channels", "groups", "batch", "image", "kernel"):  # smaller until the twin can pay
        if case.work > WORK:
            value = getattr(case, name)
            case = replace(case, **{name: tuple(min(v, 3) for v in value) if isinstance(value, tuple) else 1})
    return case


@given(cases())
@settings(max_examples=400, deadline=None)
def test_equals_the_twin(case):
    check(case)


def named():
    """One case for each way through the frame: in place, staged, depthwise, products, phases, blocks, chunks."""
    last = channels_last(2)
    ohwi = Layout((0, 1, 3, 4, 2))
    one = ((1, 1),) * 3
    return {
        "3x3": Case(batch=3, channels=17, columns=70, image=(9, 11), kernel=(3, 3), pad=one),
        "3x3 last": Case(batch=3, channels=17, columns=70, image=(9, 11), kernel=(3, 3), pad=one, x=last, w=ohwi,
                         out=last),
        "in place": Case(batch=2, channels=16, columns=33, image=(12, 9), kernel=(3, 2), stride=(2, 1, 1), x=last,
                         out=last),
        "HWIO": Case(channels=20, columns=40, image=(8, 8), kernel=(3, 3), pad=one, x=last,
                     w=Layout((3, 4, 2, 0, 1))),
        "many blocks": Case(batch=1, channels=2, columns=5, image=(40, 45), kernel=(3, 3), pad=one),
        "long rows": Case(batch=2, channels=3, columns=20, image=(700,), kernel=(5,), pad=((2, 2),)),
        "many images": Case(batch=90, channels=3, columns=4, image=(3, 3), kernel=(2, 2), pad=one),
        "blocks of k": Case(batch=2, channels=300, columns=70, image=(4, 3), kernel=(3, 3), pad=one, out=last),
        "blocks of k, inf": Case(batch=1, channels=300, columns=20, image=(4, 3), kernel=(3, 3), pad=one, special="w"),
        "depthwise": Case(batch=2, groups=70, image=(9, 10), kernel=(3, 3), pad=one),
        "depthwise last": Case(batch=2, groups=70, columns=2, image=(9, 10), kernel=(3, 3), pad=one, stride=(2, 2, 1),
                               x=channels_last(2), out=channels_last(2)),
        "depthwise in place": Case(groups=40, image=(20, 20), kernel=(17, 16), x=last, out=last, special="xw"),
        "groups as columns": Case(batch=2, groups=35, channels=3, columns=2, image=(7, 9), kernel=(3, 3), pad=one),
        "groups as columns, last": Case(groups=40, channels=7, columns=3, image=(20, 9), kernel=(3, 3), x=last,
                                        out=last, stride=(2, 1, 1), special="w"),
        "product": Case(batch=3, groups=2, channels=40, columns=30, image=(6, 7), kernel=(1, 1)),
        "product with strides": Case(batch=3, channels=40, columns=30, image=(6, 7), kernel=(1, 1), stride=(2, 2, 1)),
        "transposed": Case(channels=12, columns=20, image=(7, 6), kernel=(4, 3), in_dilation=(2, 3, 1), pad=one,
                           w=Layout(None, 0, (3, 4))),
        "phases without taps": Case(channels=3, columns=3, image=(4, 4), kernel=(2, 2), in_dilation=(5, 5, 1), pad=one),
        "far padding": Case(channels=2, columns=3, image=(2, 3), kernel=(2, 2), kernel_dilation=(1, 4000, 1),
                            pad=((0, 1), (4000, 4003), (0, 0))),
        "chunks without terms": Case(channels=1, columns=3, image=(5,), kernel=(900,), pad=((880, 890),), special="w"),
        "gradient of weights": Case(batch=3, channels=2, columns=9, image=(30, 31), kernel=(28, 29),
                                    x=Layout((2, 0, 1, 3, 4)),
                                    w=Layout((2, 0, 1, 3, 4)), out=Layout((2, 0, 1, 3, 4))),
        "volume": Case(batch=2, channels=5, columns=9, image=(4, 5, 6), kernel=(2, 3, 2), pad=one, stride=(1, 2, 1)),
        "cropped": Case(channels=3, columns=4, image=(9, 9), kernel=(3, 3), pad=((-2, 1), (3, -3), (0, 0))),
    }  # fmt: skip


NAMED = named()


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "float16"])
@pytest.mark.parametrize("name", NAMED)
def test_each_way_through_the_frame(name, dtype):
    check(replace(NAMED[name], dtype=dtype, out_dtype=dtype))


@pytest.mark.parametrize("columns", [1, 2, 7, 8, 15, 16, 17, 31, 33, 47, 48, 49, 64, 65, 100])
def test_every_tile(columns):
    """Every width and its masked tail, and with the rows' remainders every height."""
    for pixels in range(1, 24):
        check(Case(channels=3, columns=columns, image=(pixels,), kernel=(2,), pad=((1, 0),), x=channels_last(1),
                   out=channels_last(1) if pixels % 2 else Layout()))  # fmt: skip
        check(Case(groups=columns, image=(pixels,), kernel=(2,), pad=((1, 0),)))


@pytest.mark.parametrize("terms", [1, 255, 256, 257, 512, 1023, 1025, 2047, 2049, 5000])
def test_every_length_of_k(terms):
    """The tree: whole and broken chunks, blocks of several chunks; by channels and by positions."""
    check(Case(channels=terms, columns=18, image=(3,), kernel=(1,), pad=((1, 1),), seed=terms))
    check(Case(channels=1, columns=18, image=(terms,), kernel=(terms,), pad=((1, 1),), seed=terms))


def test_an_infinite_weight_outside_the_image_is_no_term():
    """0 * inf does not arise in the padding, which the fast way would compute; inside it does."""
    x, w = np.ones(4, np.float32), np.array([np.inf, 1, 1], np.float32)
    out = np.empty(4, np.float32)
    case = Case(image=(4,), kernel=(3,), pad=((1, 1),))
    desc = case.describe([(4, 4, 4, 1), (3, 3, 3, 1), (4, 4, 4, 1)])
    assert functions()[0](desc, x.ctypes.data, w.ctypes.data, out.ctypes.data, None) == 0
    assert out.tolist() == [2, np.inf, np.inf, np.inf]
    x[1] = 0
    assert functions()[0](desc, x.ctypes.data, w.ctypes.data, out.ctypes.data, None) == 0
    assert np.isnan(out[2])
    assert out[0] == 1


def test_images_do_not_depend_on_the_batch():
    """Each image alone has the bits it has among others; another order of the terms has others (control)."""
    case = Case(batch=9, channels=40, columns=30, image=(7, 6), kernel=(3, 3), pad=((1, 1),) * 3, x=channels_last(2),
                out=channels_last(2))  # fmt: skip
    _, w_size, _ = (lay.place(s)[0] for lay, s in zip((case.x, case.w, case.out), case.shapes(), strict=True))
    rng = np.random.default_rng(3)
    x, w = rng.standard_normal((9, 7, 6, 40)).astype(np.float32), rng.standard_normal(w_size).astype(np.float32)

    def run(images, weights):
        part = replace(case, batch=len(images))
        out = np.empty((len(images), 7, 6, 30), np.float32)
        places = [lay.place(s)[2] for lay, s in zip((part.x, part.w, part.out), part.shapes(), strict=True)]
        assert (
            functions()[0](part.describe(places), images.ctypes.data, weights.ctypes.data, out.ctypes.data, None) == 0
        )
        return out.view(np.uint32)

    whole = run(x, w)
    for n in (1, 2, 4, 8):
        for start in range(0, 9 - n, 3):
            assert np.array_equal(run(x[start : start + n].copy(), w), whole[start : start + n])
    turned = np.ascontiguousarray(w.reshape(30, 40, 9)[:, ::-1]).ravel()
    assert not np.array_equal(run(np.ascontiguousarray(x[..., ::-1]), turned), whole)


def digest():
    """Of many cases' outputs, by the kernels of this process, which a read or write outside an operand ends."""
    ours, _ = functions()
    hashed = hashlib.sha256()
    large = [
        Case(batch=3, channels=33, columns=70, image=(24, 25), kernel=(3, 3), pad=((1, 1),) * 3, special="x"),
        Case(batch=1, channels=130, columns=130, image=(6, 7), kernel=(3, 3), pad=((1, 1),) * 3),
        Case(batch=2, groups=40, columns=2, image=(40, 41), kernel=(5, 5), pad=((2, 2),) * 3, special="w"),
        Case(batch=2, channels=20, columns=17, image=(20, 20), kernel=(4, 4), in_dilation=(2, 2, 1), pad=((2, 2),) * 3),
    ]
    for i, case in enumerate([*NAMED.values(), *large]):
        for dtype in ("float32", "float64", "bfloat16", "float16"):
            case = replace(case, dtype=dtype, out_dtype=dtype)
            hashed.update(case.run(ours, lambda x, end=bool(i % 2): at_the_edge(x, end)).tobytes())
    return hashed.hexdigest()


@pytest.fixture(scope="module")
def digest_here():
    return digest()


@pytest.mark.parametrize("isa", native.isas())
def test_instruction_sets_agree(isa, digest_here):
    assert digest_elsewhere("test_conv", SAMEBITS_ISA=isa, SAMEBITS_THREADS="3") == digest_here


@pytest.mark.parametrize("threads", ["1", "2", "3", "7"])
def test_threads_agree(threads, digest_here):
    assert digest_elsewhere("test_conv", SAMEBITS_THREADS=threads) == digest_here


@pytest.mark.parametrize(
    "change",
    [
        {"channels": 1 << 45},
        {"channels": 1 << 33, "kernel": (1 << 23,), "in_dilation": (1 << 23, 1, 1)},
    ],
)
def test_more_terms_than_any_memory_holds_is_an_error(change):
    """Strides of 0 make operands of any size; tables and scratch for them are refused before they are made."""
    case = Case(**{"kernel": (3,), "image": (4,), **change})
    desc = case.describe([(0, 0, 0, 0)] * 2 + [(1 << 20, 1 << 20, 1 << 20, 1)])
    desc[3] = desc[13] = 1  # one output
    x = np.zeros(8, np.float32).ctypes.data
    assert functions()[0](desc, x, x, x, None) == -1
    assert "sb_conv: no memory" in library().sb_error().decode()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({0: 99}, "dtype is 99, which is no dtype"),
        ({0: DTYPES.index("int32")}, "is not one that a convolution takes"),
        ({1: DTYPES.index("float64")}, "does not go with dtype"),
        ({2: 0}, "rank is 0; give 1, 2 or 3 spatial axes"),
        ({2: 4}, "rank is 4"),
        ({3: -1}, "axis 0 has -1 elements"),
        ({6: -2}, "axis 1 has -2 elements"),
        ({16: 0}, "spatial axis 0 has stride 0"),
        ({22: -1}, "dilations -1 and 1; each is 1 or more"),
        ({25: 0}, "dilations 1 and 0"),
        ({19: 1 << 60}, "positions do not fit"),
        ({25: 1 << 60}, "positions do not fit"),
        ({10: 1 << 40, 37: 0}, "kernel has more than"),
        ({7: 1 << 62}, "the number of elements does not fit"),
        ({31: 1 << 62}, "an offset of an operand does not fit"),
        ({43: 0}, "the strides of the output let its elements overlap"),
    ],
)
def test_errors(change, message):
    """Positions: 3 batch ... 6 out channels, 7 image, 10 kernel, 13 out, 16 stride, 19 pad, 22, 25 dilations, 28 x."""
    desc = Case(channels=2, columns=2, image=(4,), kernel=(2,)).describe([(8, 8, 4, 1), (8, 4, 2, 1), (6, 6, 3, 1)])
    for i, value in change.items():
        desc[i] = value
    x = np.zeros(64, np.float32).ctypes.data
    assert functions()[0](desc, x, x, x, None) == -1
    assert message in library().sb_error().decode(), library().sb_error()
