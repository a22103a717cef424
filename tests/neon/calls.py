"""Random calls of samebits.native, and dense samples of its functions: what tests/neon/record.py records beside the
golden vectors. Sizes cross the places where code changes; operands have gaps, are reversed, transposed, repeated."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from samebits import native
from samebits.native._library import DTYPES, library
from tests.native.calls import KINDS, Call as CApiCall

Call = tuple[str, partial[Any]]  # what it is, and what computes it
SIZES = (1, 2, 3, 7, 8, 16, 17, 31, 33, 64, 100, 256, 257, 1000)
FLOATS = ("float16", "bfloat16", "float32", "float64")
STEP = (1 << 14) + 1  # of a dense sample: odd, so that the low bits vary


def numbers(rng: np.random.Generator, dtype: str, shape: int | tuple[int, ...]) -> NDArray:
    """Mixed sizes and signs, one in eight a special value or any bits at all; any bits of integers."""
    kind = np.dtype(dtype)
    if kind.kind == "c":
        return np.stack([numbers(rng, f"float{4 * kind.itemsize}", shape) for _ in range(2)], -1).view(kind)[..., 0]
    if kind.kind == "b":
        return rng.integers(0, 2, shape).astype(bool)
    word = np.dtype(f"u{kind.itemsize}")
    words = rng.integers(0, np.iinfo(word).max, shape, word, endpoint=True)
    if kind.kind in "iu":
        return np.where(rng.random(shape) < 0.5, words.view(kind), (words % 100).astype(kind))
    info = ml_dtypes.finfo(kind)
    with np.errstate(all="ignore"):
        usual = (rng.standard_normal(shape) * np.exp2(rng.integers(-6, 7, shape))).astype(kind)
        pool = np.array([0, -0.0, np.inf, -np.inf, np.nan, 1, -0.5, 2.5, 1e9, -3e9], np.float64).astype(kind)
        ends = np.array([info.tiny, info.max, -info.max, info.smallest_subnormal, -info.smallest_subnormal], kind)
    pool = np.concatenate([pool, ends])
    special = np.where(rng.random(shape) < 0.5, pool[rng.integers(0, len(pool), shape)].view(word), words)
    return np.where(rng.random(shape) < 0.125, special, usual.view(word)).view(kind)


def placed(rng: np.random.Generator, x: NDArray) -> NDArray:
    """x with other strides: with gaps, reversed, or its axes in memory in another order; half of the time as it is."""
    if x.ndim == 0 or rng.random() < 0.5:
        return x
    axes = rng.permutation(x.ndim)
    room = np.zeros([x.shape[i] * 2 for i in axes], x.dtype)
    view = room[tuple(slice(None, None, int(rng.choice([2, -2]))) for _ in axes)].transpose(np.argsort(axes))
    view[...] = x
    return view


def sizes(rng: np.random.Generator, count: int, most: int) -> tuple[int, ...]:
    """So many sizes, whose product is not above `most`, in any order."""
    out = []
    for _ in range(count):
        out.append(int(rng.choice([n for n in SIZES if n <= most])))
        most //= out[-1]
    return tuple(int(n) for n in rng.permutation(out))


KEYWORDS: dict[str, list[dict[str, Any]]] = {
    "convert": [{"dtype": to} for to in DTYPES],
    "integer_pow": [{"exponent": p} for p in (-3, 5)],
    "reduce_precision": [{"exponent_bits": 5, "mantissa_bits": 7}],
}


def operands(name: str, dtype: str, keywords: dict[str, Any]) -> list[str]:
    """The dtypes of the operands of an elementwise operation on this dtype; none where it has no rule."""
    for count in (1, 2, 3):
        dtypes = ["bool", dtype, dtype] if name == "select" else [dtype] * count
        try:
            native.apply(name, *(np.zeros(0, d) for d in dtypes), **keywords)
        except (TypeError, ValueError):
            continue
        return dtypes
    return []


def elementwise() -> Iterator[Call]:
    left = set(native.names())
    for name in native.names():
        for i, dtype in enumerate((*DTYPES, "complex64", "complex128")):
            for j, keywords in enumerate(KEYWORDS.get(name, [{}])):
                dtypes = operands(name, dtype, keywords)
                if not dtypes:
                    continue
                left.discard(name)
                rng = np.random.default_rng([1, *name.encode(), i, j])
                for n in (*rng.choice(SIZES, 3, replace=False).tolist(), (7, 33)):
                    x = [placed(rng, numbers(rng, d, n)) for d in dtypes]
                    if n == (7, 33) and len(x) > 1:
                        x[-1] = x[-1][:, :1]
                    yield f"{name} {dtype} {keywords or ''}", partial(native.apply, name, *x, **keywords)
    if left:
        raise RuntimeError(f"{', '.join(sorted(left))}: no dtype is taken; KEYWORDS must have what else they want")


def compute(call: CApiCall) -> None:
    (a, b), out = call.operands(), call.output()
    if call.ours(a.ctypes.data, b.ctypes.data, out.ctypes.data):
        raise RuntimeError(f"{call}: {(library().sb_error() or b'').decode()}")


def products() -> Iterator[Call]:
    for kind in ("dot", "conv"):
        yield from ((repr(call), partial(compute, call)) for call in KINDS[kind])
    for i in range(120):
        rng = np.random.default_rng([2, i])
        m, n, k = sizes(rng, 3, 60000)
        dtype = FLOATS[i % 4]
        batch = (int(rng.choice([1, 1, 2, 3])),)
        a, b = numbers(rng, dtype, (*batch, m, k)), numbers(rng, dtype, (*batch[: i % 3], k, n))
        out = "float32" if i % 8 < 2 else dtype
        yield f"matmul {dtype} {m} {n} {k}", partial(native.matmul, placed(rng, a), placed(rng, b), out)


def reductions() -> Iterator[Call]:
    for i, name in enumerate(("sum", "prod", "mean", "max", "min", "argmax", "argmin", "accumulate", "any", "all")):
        logical = name in ("any", "all")
        for j, dtype in enumerate(("bool",) if logical else FLOATS):
            for case in range(9):
                rng = np.random.default_rng([3, i, j, case])
                x = placed(rng, numbers(rng, dtype, sizes(rng, 1 + case % 3, 100000 if case < 3 else 10000)))
                axis = int(rng.integers(x.ndim))
                yield f"{name} {dtype} {x.shape} {axis}", partial(getattr(native, name), x, axis=axis)
                if x.ndim > 1 and name not in ("argmax", "argmin", "accumulate"):
                    yield f"{name} {dtype} {x.shape}", partial(getattr(native, name), x)


def others() -> Iterator[Call]:
    for i, dtype in enumerate(FLOATS):
        for j, name in enumerate(("cumsum", "cumprod", "cummax", "cummin")):
            for case in range(5):
                rng = np.random.default_rng([4, i, j, case])
                x = placed(rng, numbers(rng, dtype, sizes(rng, 1 + case % 2, 20000)))
                axis, reverse = int(rng.integers(x.ndim)), bool(case % 2)
                yield f"{name} {dtype} {x.shape} {axis}", partial(getattr(native, name), x, axis, reverse)
        for j, name in enumerate(("scatter_add", "scatter_mul", "scatter_max", "scatter_min")):
            for case in range(3):
                rng = np.random.default_rng([5, i, j, case])
                length, count = sizes(rng, 2, 100000)
                index = rng.integers(-1, length + 1, count).astype(("int32", "int64")[case % 2])
                x, updates = numbers(rng, dtype, length), numbers(rng, dtype, count)
                yield f"{name} {dtype} {length} {count}", partial(getattr(native, name), x, index, updates)


def calls() -> Iterator[Call]:
    yield from elementwise()
    yield from products()
    yield from reductions()
    yield from others()


def dense() -> Iterator[Call]:
    """Every operation of one float32 on one in STEP of all its values; on random words of float64."""
    every = np.arange(0, 1 << 32, STEP, dtype=np.uint32).view(np.float32)
    words = np.random.default_rng(6).integers(0, 1 << 64, 1 << 14, np.uint64, endpoint=False).view(np.float64)
    for name in native.names():
        for x in (every, words):
            if len(operands(name, x.dtype.name, {})) == 1:
                yield f"{name} {x.dtype}", partial(native.apply, name, x)
