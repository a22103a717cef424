"""Golden vectors: reads and writes the files beside it, and makes them from samebits.order.

    python spec/vectors/generate.py            # writes *.txt; only for a new contract version (clause VER-1)
    python spec/vectors/generate.py --check    # exit status 1 where the reference no longer gives them

The format is in spec/README.md. Inputs are made of integers by exact arithmetic alone, so that they are the same on
every machine, and are stored all the same: a reader needs nothing but the file.
"""

import sys
from ast import literal_eval
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from samebits import bits, order

SMALL = ("float8_e3m4", "float8_e4m3", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e4m3b11fnuz", "float8_e5m2",
         "float8_e5m2fnuz", "float8_e8m0fnu")  # fmt: skip
HERE = Path(__file__).parent
F32, F64, F16, BF16 = (np.dtype(d) for d in (np.float32, np.float64, np.float16, ml_dtypes.bfloat16))
FLOATS = (F32, F64, F16, BF16)


@dataclass
class Case:
    """One call: the name of a function of samebits.order, its arguments and its result."""

    name: str
    clause: str
    operation: str
    inputs: list[NDArray]
    keywords: dict[str, Any] = field(default_factory=dict)
    output: NDArray | None = None

    def compute(self) -> NDArray:
        return self.call(getattr(order, self.operation))

    def call(self, function: Callable[..., Any]) -> NDArray:
        """wrt: of several results, the derivative in this operand."""
        keywords = dict(self.keywords)
        wrt = keywords.pop("wrt", None)
        result = function(*self.inputs, **keywords)
        if self.operation == "top_k":
            return result[1]  # the indices tell the elements as well
        return result["qkv".index(wrt)] if wrt else joined(result)


def joined(result: NDArray | tuple[NDArray, ...]) -> NDArray:
    """A result; several of one dtype one after the other."""
    return np.concatenate([part.ravel() for part in result]) if isinstance(result, tuple) else result


# ---- the format ----


def write(path: Path, title: str, cases: list[Case]) -> None:
    lines = [f"# {title}; contract version {order.VERSION}; made by spec/vectors/generate.py from samebits.order", ""]
    before: list[NDArray] = []
    for case in cases:
        keywords = "".join(f" {key}={value}".replace(", ", ",") for key, value in case.keywords.items())
        lines.append(f"case {case.name} {case.clause} {case.operation}{keywords}")
        for i, (label, array) in enumerate((*(("in", x) for x in case.inputs), ("out", case.output))):
            assert array is not None, case.name
            if label == "in" and i < len(before) and bits.same(array, before[i]):
                lines.append("in same")
                continue
            shape = "x".join(map(str, array.shape)) or "-"
            lines.append(f"{label} {array.dtype.name} {shape}")
            words = bits.hex_words(array)
            lines += ["  " + " ".join(words[i : i + 12]) for i in range(0, len(words), 12)]
        lines.append("")
        before = case.inputs
    path.write_text("\n".join(lines))


def read(path: Path) -> Iterator[Case]:
    """The cases of a file, with their stored output."""
    before: list[NDArray] = []
    for block in path.read_text().split("\ncase ")[1:]:
        head, *lines = block.splitlines()
        name, clause, operation, *keywords = head.split()
        arrays: list[NDArray] = []
        for i, line in enumerate(lines):
            if line == "in same":
                arrays.append(before[len(arrays)])
            elif line.startswith(("in ", "out ")):
                words = "".join(takewhile(lambda text: text.startswith("  "), lines[i + 1 :]))
                arrays.append(_array(line.split()[1], line.split()[2], words.split()))
        before = arrays[:-1]
        yield Case(name, clause, operation, arrays[:-1], dict(map(_keyword, keywords)), arrays[-1])


def _array(dtype: str, shape: str, words: Sequence[str]) -> NDArray:
    return bits.from_hex(words, np.dtype(dtype), [] if shape == "-" else [int(n) for n in shape.split("x")])


def _keyword(text: str) -> tuple[str, Any]:
    key, value = text.split("=")
    return key, value if key.endswith(("dtype", "layout", "select", "wrt")) else literal_eval(value)


# ---- inputs ----


def numbers(seed: int, shape: int | tuple[int, ...], dtype: np.dtype, spread: int = 4) -> NDArray:
    """Both signs, a full significand and exponents within `spread` of 1, by integer arithmetic and exact scaling."""
    rng = np.random.Generator(np.random.PCG64(seed))
    digits = rng.integers(-(2**52), 2**52, shape).astype(np.float64)
    return np.asarray(np.ldexp(digits, rng.integers(-52 - spread, -51 + spread, shape))).astype(dtype)


def specials(dtype: np.dtype) -> NDArray:
    """Zeros, ones, infinities, NaNs with payloads, the ends of the ranges, subnormals, near one, halves."""
    info, item = ml_dtypes.finfo(dtype), dtype.itemsize
    least = np.array(1, f"u{item}").view(dtype)
    tiny, largest, eps = (np.array(v, dtype) for v in (info.tiny, info.max, info.eps))
    nan = order.div(np.zeros((), dtype), np.zeros((), dtype))
    payload = (nan.view(f"u{item}") | np.array(5, f"u{item}")).view(dtype)
    values = [0, 1, 2, 3, 0.5, 1.5, 2.5, 100, np.inf, tiny, largest, least, order.mul(least, np.array(3, dtype))]
    values += [order.add(np.array(1, dtype), eps), order.sub(tiny, least), payload]
    positive = np.array([np.asarray(v, dtype) for v in values])
    return np.concatenate([positive, order.neg(positive)])


def pairs(dtype: np.dtype) -> tuple[NDArray, NDArray]:
    """All pairs of fourteen specials."""
    chosen = specials(dtype)[[0, 1, 3, 8, 9, 10, 11, 15, 16, 17, 20, 24, 26, 27]]
    a, b = np.meshgrid(chosen, chosen)
    return a.ravel(), b.ravel()


# ---- the cases ----


def dots() -> Iterator[Case]:
    for dtype in FLOATS:
        for k in (0, 1, 3, 17, 256, 257, 520) if dtype == F32 else (1, 17, 257):
            m, n = (2, 3) if k < 100 else (1, 2)
            a, b = numbers(k, (m, k), dtype), numbers(k + 1, (k, n), dtype)
            yield Case(f"{dtype.name}_k{k}", "DOT-3", "matmul", [a, b])
    a, b = numbers(1, (2, 3), F32), numbers(2, (3, 2), F32)
    for i, special in enumerate(specials(F32)):
        c = a.copy()
        c[0, 1] = special
        yield Case(f"special{i}", "NUM-4", "matmul", [c, b])
    under = np.array([[1e-30, 1e-30]], F32)
    yield Case("underflow_to_minus_zero", "DOT-5", "matmul", [under, order.neg(under.T)])
    yield Case("subnormal", "NUM-3", "matmul", [np.array([[1e-40, 2e-40]], F32), np.array([[1.5], [0.75]], F32)])
    yield Case("accumulator", "NUM-7", "matmul", [numbers(3, (2, 40), BF16), numbers(4, (40, 2), BF16)],
               {"out_dtype": "float32"})  # fmt: skip


def convolutions() -> Iterator[Case]:
    for dtype in FLOATS:
        x, w = numbers(20, (2, 4, 5, 6), dtype), numbers(21, (6, 2, 3, 2), dtype)
        yield Case(f"groups_{dtype.name}", "CONV-1", "conv", [x, w],
                   {"groups": 2, "strides": (2, 1), "padding": ((1, 0), (0, 2))})  # fmt: skip
        yield Case(f"transposed_{dtype.name}", "CONV-5", "conv_transpose", [x, numbers(22, (4, 2, 3, 3), dtype)],
                   {"strides": (2, 3), "padding": 1, "output_padding": (1, 0), "groups": 2})  # fmt: skip
    x, w = numbers(23, (1, 30, 4, 5), F32), numbers(24, (3, 30, 3, 3), F32)
    yield Case("two_chunks", "CONV-3", "conv", [x, w], {"padding": 1})
    last = {"x_layout": "NHWC", "w_layout": "HWIO", "padding": 1}
    x, w = (np.ascontiguousarray(v) for v in (x.transpose(0, 2, 3, 1), w.transpose(2, 3, 1, 0)))
    yield Case("two_chunks_channels_last", "CONV-5", "conv", [x, w], last)
    yield Case("dilations", "CONV-2", "conv", [x, w],
               last | {"lhs_dilation": (2, 3), "rhs_dilation": (3, 2), "padding": ((-1, 4), (3, -2))})  # fmt: skip
    x, w = numbers(25, (1, 1, 9), F32), numbers(26, (2, 1, 600), F32)
    yield Case("chunks_without_terms", "CONV-3", "conv", [x, w], {"padding": ((40, 595),), "strides": 31})
    yield Case("outside", "CONV-4", "conv", [x, w[:, :, :2]], {"padding": 4, "rhs_dilation": 3})
    yield Case("volume", "CONV-1", "conv", [numbers(27, (2, 2, 3, 4, 3), F32), numbers(28, (3, 2, 2, 3, 2), F32)],
               {"strides": (1, 2, 1), "padding": (0, 1, 1)})  # fmt: skip
    odd = np.array([np.inf, -np.inf, np.nan, 1, -0.0, 0, 1e-45, 3e38], F32)
    x, w = np.resize(odd, (1, 1, 3, 8)), np.resize(np.append(odd, F32.type(2)), (1, 1, 3, 3))
    yield Case("special_weights_and_padding", "CONV-2", "conv", [x, w], {"padding": 2})
    ones = np.ones((1, 1, 3, 3), F32)
    yield Case("no_zero_times_infinity", "CONV-2", "conv", [ones, np.where(ones > 0, F32.type(np.inf), ones)],
               {"padding": 1})  # fmt: skip
    tiny = np.full((1, 1, 2, 2), 1e-30, F32)
    yield Case("underflow_is_plus_zero", "CONV-4", "conv", [tiny, -tiny], {"padding": 1})


def attentions() -> Iterator[Case]:
    """Moderate scores, so that many weights count."""

    def made(seed: int, shape: tuple[int, ...], dtype: np.dtype) -> NDArray:
        return np.asarray(numbers(seed, shape, F64, 0) / 2).astype(dtype)

    def three(dtype: np.dtype, heads: int, groups: int, queries: int, keys: int) -> list[NDArray]:
        return [made(40 + i, s, dtype) for i, s in enumerate(
            ((1, heads, queries, 4), (1, groups, keys, 4), (1, groups, keys, 3)))]  # fmt: skip

    for dtype in FLOATS:
        yield Case(f"groups_{dtype.name}", "ATT-1", "attention", three(dtype, 4, 2, 3, 17))
        yield Case(
            f"causal_{dtype.name}", "ATT-2", "attention", three(dtype, 2, 2, 3, 17), {"causal": True, "offset": 9}
        )
        q, k, v = three(dtype, 2, 1, 3, 5)
        for wrt in "qkv":
            yield Case(f"derivative_{wrt}_{dtype.name}", "ATT-8", "attention_backward",
                       [q, k, v, made(50, (1, 2, 3, 3), dtype)], {"wrt": wrt, "causal": True, "offset": 2})  # fmt: skip
    long = three(F32, 1, 1, 2, 300)
    yield Case("two_chunks", "ATT-3", "attention", long)
    yield Case("counted_from_the_first_key", "ATT-3", "attention", long, {"starts": (20,), "lengths": (290,)})
    yield Case("window", "ATT-3", "attention", long, {"causal": True, "offset": 280, "window": 270})
    q, k, v = three(F32, 2, 2, 3, 20)
    bias = made(51, (2, 3, 20), F32)
    bias[0, :, 2:5], bias[1, 1], bias[:, 2, 0] = -np.inf, np.finfo(F32).min, np.nan
    yield Case("bias_that_masks", "ATT-2", "attention", [q, k, v, bias], {"scale": 0.75})
    mask = numbers(52, (2, 3, 20), F32) > 0
    yield Case("mask", "ATT-2", "attention", [q, k, v, np.zeros_like(bias), mask])
    stale = [np.where(np.arange(20)[:, None] % 3, x, F32.type(np.nan)) for x in (k, v)]
    yield Case("masked_nan", "ATT-3", "attention", [q, *stale, np.zeros(20, F32), np.arange(20) % 3 > 0])
    yield Case("nothing_admitted", "ATT-6", "attention", [q, k, v], {"lengths": (0,)})
    one, odd = np.ones((1, 1, 1, 1), F32), specials(F32)
    for name, chosen in (("zeros", [0, 16]), ("minus_infinity", [24]), ("infinity", [1, 8]), ("nan", [1, 15]),
                         ("largest", [10, 1, 26])):  # fmt: skip
        keys = odd[chosen].reshape(1, 1, -1, 1)
        yield Case(f"scores_{name}", "ATT-6", "attention", [one, keys, np.ones_like(keys)])
    pages = [np.ascontiguousarray(x.reshape(1, 2, 5, 4, -1)[0].transpose(1, 2, 0, 3)) for x in (k, v)]
    yield Case("pages", "ATT-2", "attention", [q, *(x[[3, 1, 4, 0, 2]] for x in pages)],
               {"table": ((3, 1, 4, 0, 2),), "lengths": (18,)})  # fmt: skip
    q, k, v = three(F32, 1, 1, 300, 3)
    for wrt in "kv":
        yield Case(f"derivative_{wrt}_two_chunks", "ATT-9", "attention_backward",
                   [q, k, v, made(53, (1, 1, 300, 3), F32)], {"wrt": wrt})  # fmt: skip


def sums() -> Iterator[Case]:
    for dtype in FLOATS:
        for n in (0, 1, 7, 15, 16, 17, 31, 255, 256, 257, 520, 800) if dtype == F32 else (1, 7, 17, 257, 300):
            x = numbers(n, n, dtype)
            yield Case(f"sum_{dtype.name}_n{n}", "SUM-3", "sum", [x])
            if n in (7, 257):
                yield Case(f"mean_{dtype.name}_n{n}", "SUM-7", "mean", [x])
                near_one = (1 + np.asarray(numbers(n, n, F64, 0)) / 16).astype(dtype)
                yield Case(f"prod_{dtype.name}_n{n}", "PROD-1", "prod", [near_one])
    x = numbers(9, (3, 5, 7), F32)
    for axis in (0, 1, 2):
        yield Case(f"axis{axis}", "FLAT-1", "sum", [x], {"axis": axis})
    for operation in ("sum", "prod", "mean"):
        for i, special in enumerate(specials(F32)):
            yield Case(f"{operation}_special{i}", "NUM-4", operation, [np.array([1.5, special, -0.0, 0.25], F32)])


def extrema() -> Iterator[Case]:
    for operation, clause in (("max", "MAX-1"), ("min", "MAX-1"), ("argmax", "ARG-1"), ("argmin", "ARG-1")):
        for dtype in FLOATS:
            yield Case(f"{operation}_{dtype.name}", clause, operation, [numbers(5, (2, 40), dtype)], {"axis": 1})
        a, b = pairs(F32)
        yield Case(f"{operation}_pairs", clause, operation, [np.stack([a, b])], {"axis": 0})
    flags = np.array([[True, False, True], [True, True, True], [False] * 3])
    for operation in ("any", "all"):
        yield Case(operation, "ANY-1", operation, [flags], {"axis": 1})


def accumulations() -> Iterator[Case]:
    for dtype in FLOATS:
        for rows in (0, 1, 2, 3, 7, 8, 13, 64):
            yield Case(f"{dtype.name}_rows{rows}", "ACC-1", "accumulate", [numbers(rows, (rows, 3), dtype)])
    yield Case("minus_zero", "ACC-1", "accumulate", [np.array([-0.0], F32)])


def cumulatives() -> Iterator[Case]:
    for dtype in FLOATS:
        for n in (1, 17, 257):
            x = numbers(n, n, dtype)
            yield Case(f"cumsum_{dtype.name}_n{n}", "CUM-1", "cumsum", [x])
            near_one = (1 + np.asarray(numbers(n, n, F64, 0)) / 16).astype(dtype)
            yield Case(f"cumprod_{dtype.name}_n{n}", "CUM-4", "cumprod", [near_one])
    x = np.concatenate([numbers(3, 20, F32), specials(F32)[::-1]])
    for operation in ("cumsum", "cumprod", "cummax", "cummin"):
        for reverse in (0, 1):
            yield Case(f"{operation}_special_reverse{reverse}", "CUM-6", operation, [x], {"reverse": reverse})
    for dtype in FLOATS:
        for n in (1, 17, 257):
            yield Case(f"cumlogsumexp_{dtype.name}_n{n}", "CUM-8", "cumlogsumexp", [numbers(n, n, dtype)])
    for reverse in (0, 1):
        yield Case(f"cumlogsumexp_special_reverse{reverse}", "CUM-8", "cumlogsumexp", [x], {"reverse": reverse})
    yield Case("cumlogsumexp_infinities", "CUM-8", "cumlogsumexp", [np.array([-np.inf, -np.inf, 1, np.inf, 2], F32)])


def scatters() -> Iterator[Case]:
    index = np.array([3, 0, 3, 3, -1, 7, 2, 3, 0, 2**31 - 1, 3], np.int32)
    for dtype in FLOATS:
        for operation in ("scatter_add", "scatter_mul", "scatter_max", "scatter_min"):
            yield Case(f"{operation}_{dtype.name}", "SCT-1", operation,
                       [numbers(6, 5, dtype), index, numbers(7, len(index), dtype)])  # fmt: skip
    x = specials(F32)
    yield Case("untouched_keep_bits", "SCT-1", "scatter_add", [x, np.array([0, 1], np.int64), x[:2]])
    for dtype in FLOATS:
        rows = numbers(30, (len(index), 3), dtype)
        yield Case(f"scatter_sub_{dtype.name}", "SCT-5", "scatter_sub", [numbers(31, (5, 3), dtype), index, rows])
        for operation in ("segment_sum", "segment_prod", "segment_max", "segment_min"):
            clause = "SCT-4" if operation == "segment_sum" else "SCT-6"
            yield Case(f"{operation}_{dtype.name}", clause, operation, [rows, index], {"num_segments": 5})


def windowed() -> Iterator[Case]:
    operations = ("window_sum", "window_prod", "window_max", "window_min", "window_argmax", "window_argmin")
    for operation in operations:
        clause = "WIN-1" if operation in operations[:2] else "WIN-3"
        for dtype in FLOATS:
            x = numbers(32, (6, 7), dtype)
            yield Case(f"{operation}_{dtype.name}", clause, operation, [x], {"window": (2, 3), "strides": (2, 1)})
        yield Case(f"{operation}_special", clause, operation, [np.resize(specials(F32), (7, 9))],
                   {"window": (3, 2), "strides": 2, "padding": ((1, 2), (0, -1))})  # fmt: skip
        yield Case(f"{operation}_dilated", "WIN-2", operation, [numbers(33, (4, 5), F32)],
                   {"window": 3, "padding": 2, "base_dilation": (2, 3), "window_dilation": (1, 2)})  # fmt: skip
        near_one = (1 + np.asarray(numbers(34, 300, F64, 0)) / 16).astype(F32)
        yield Case(f"{operation}_two_chunks", "WIN-2", operation, [near_one],
                   {"window": 290, "strides": 90, "padding": ((140, 270),)})  # fmt: skip
        yield Case(f"{operation}_outside", "WIN-2", operation, [near_one[:3]], {"window": 2, "padding": 3})
    for dtype in FLOATS:
        for select in ("max", "min"):
            name = f"gradient_{select}_{dtype.name}"
            operand = np.asarray(np.resize(numbers(35, 20, dtype), (5, 6)))
            source = numbers(36, (3, 3), dtype)
            yield Case(name, "WIN-4", "select_and_scatter_add", [source, operand],
                       {"window": 3, "strides": 2, "padding": ((1, 1), (1, 0)), "select": select})  # fmt: skip
    x = np.resize(specials(F32), (5, 6))
    yield Case("gradient_special", "WIN-4", "select_and_scatter_add", [numbers(37, (4, 5), F32), x], {"window": 2})
    how = {"window": 3, "padding": 2, "base_dilation": (1, 2), "window_dilation": (2, 1)}
    for dtype in FLOATS:
        for select in ("max", "min"):
            operands = [numbers(38, (4, 3), dtype), np.asarray(np.resize(numbers(39, 9, dtype), (4, 3)))]
            yield Case(f"tangent_{select}_{dtype.name}", "WIN-5", "select_and_gather_add", operands,
                       {**how, "select": select})  # fmt: skip


def sorted_ones() -> Iterator[Case]:
    for dtype in FLOATS:
        x = np.concatenate([specials(dtype), numbers(38, 40, dtype), specials(dtype)[::-1]])
        yield Case(f"sort_{dtype.name}", "EXACT-3", "sort", [x])
        yield Case(f"argsort_{dtype.name}", "EXACT-3", "argsort", [x])
        for k in (1, 7, 60):
            yield Case(f"top_{k}_{dtype.name}", "TOP-1", "top_k", [x], {"k": k})
            yield Case(f"bottom_{k}_{dtype.name}", "TOP-2", "top_k", [x], {"k": k, "largest": False})
    for name in ("int32", "int64"):
        x = np.array([3, -1, 3, 7, 0, 7, np.iinfo(name).min, np.iinfo(name).max, -1], name)
        yield Case(f"top_4_{name}", "TOP-3", "top_k", [x], {"k": 4, "dtype": "int32"})


def elementwise() -> Iterator[Case]:
    one = ("neg abs sign sqrt floor ceil round_even round_away is_finite", "x")
    two = ("add sub mul div rem maximum minimum copysign eq ne lt le gt ge nextafter", "ab")
    clauses = {"neg": 2, "abs": 2, "copysign": 2, "maximum": 3, "minimum": 3, "sign": 4, "rem": 5, "nextafter": 6}
    clauses |= dict.fromkeys(("floor", "ceil", "round_even", "round_away"), 7)
    clauses |= dict.fromkeys(("is_finite", "eq", "ne", "lt", "le", "gt", "ge"), 8)
    for dtype in FLOATS:
        a, b = pairs(dtype)
        x = np.concatenate([specials(dtype), numbers(8, 30, dtype)])
        for names, operands in (one, two):
            for name in names.split():
                inputs = [x] if operands == "x" else [np.append(a, x[-30:]), np.append(b, x[-30:][::-1])]
                yield Case(f"{name}_{dtype.name}", f"ELT-{clauses.get(name, 1)}", name, inputs)
        for p in (-5, -3, -2, -1, 0, 1, 2, 3, 5, 7):
            yield Case(f"integer_pow_{dtype.name}_{p}", "ELT-9", "integer_pow", [x], {"exponent": p})
        low, high = np.array(-0.5, dtype), np.array(1.25, dtype)
        yield Case(f"clamp_{dtype.name}", "MAX-3", "clamp", [low, x, high])
        yield Case(f"select_{dtype.name}", "NUM-5", "select", [order.lt(a, b), a, b])


def conversions() -> Iterator[Case]:
    integers = ["bool", *(f"{u}int{n}" for n in (8, 16, 32, 64) for u in ("", "u"))]
    targets = [*(d.name for d in FLOATS), *integers]
    ties = np.array([1 + 2.0**-8 + 2.0**-40, 1 + 2.0**-11 + 2.0**-40, 1 + 2.0**-24 + 2.0**-52, 65519.99, 65520.0,
                     2.0**31 - 1, 2.0**31, -(2.0**31), 2.0**63, -(2.0**63), 2.0**64, 1e39, 1e-45, 7e-46, -0.7,
                     255.5])  # fmt: skip
    for source in FLOATS:
        with np.errstate(all="ignore"):
            x = np.concatenate([specials(source), ties.astype(source)])
        for target in targets:
            if target != source.name:
                yield Case(f"{source.name}_to_{target}", "CVT-1", "convert", [x], {"dtype": target})
    for source in integers:
        kind = np.dtype(source)
        if source == "bool":
            x = np.array([False, True])
        else:
            info = np.iinfo(kind)
            raw = [0, 1, 2, 127, info.max, info.max - 1, info.min, info.max // 3, (1 << 24) + 1, (1 << 53) + 1,
                   (257 << 20) + 1, (257 << 50) + 1, (257 << 50) - 1, (2049 << 3) + 1]  # fmt: skip
            x = np.array([v for v in raw if v <= info.max], kind)
        for target in targets:
            if target != source:
                yield Case(f"{source}_to_{target}", "CVT-3", "convert", [x], {"dtype": target})
    for name in SMALL:
        codes = np.arange(256, dtype=np.uint8).view(getattr(ml_dtypes, name))
        for target in ("float32", "float16", "bool", "int8"):
            yield Case(f"{name}_to_{target}", "CVT-9", "convert", [codes], {"dtype": target})
        for source in (F32, F64, BF16):
            values = order.convert(codes, source)
            values = values[np.isfinite(values)]
            between = order.convert((values[:-1].astype(F64) + values[1:].astype(F64)) / 2, source)
            with np.errstate(all="ignore"):
                x = np.concatenate([specials(source), ties.astype(source), between])
            yield Case(f"{source.name}_to_{name}", "CVT-10", "convert", [x], {"dtype": name})
        for source in ("int32", "uint64"):
            x = np.array([0, 1, 25, 27, (1 << 25) + (1 << 24), (1 << 25) + (1 << 24) + 1, 464, 465, 61440], source)
            yield Case(f"{source}_to_{name}", "CVT-10", "convert", [x], {"dtype": name})


def functions() -> Iterator[Case]:
    later = "tan asin acos atan sinh cosh asinh acosh atanh cbrt"
    one = "exp exp2 expm1 log log1p tanh logistic rsqrt sin cos erf"
    for dtype in FLOATS:
        x = np.concatenate([specials(dtype), numbers(11, 40, dtype, 6)])
        for name in one.split():
            if hasattr(order, name):
                yield Case(f"{name}_{dtype.name}", "FUN-1" if dtype != F64 else "FUN-2", name, [x])
        if hasattr(order, "pow"):
            a, b = pairs(dtype)
            y = numbers(12, 40, dtype, 3)
            inputs = [np.append(a, np.abs(x[-40:])), np.append(b, y)]
            yield Case(f"pow_{dtype.name}", "FUN-1" if dtype != F64 else "FUN-2", "pow", inputs)
    for dtype in FLOATS:
        clause = "FUN-1" if dtype != F64 else "FUN-2"
        x = np.concatenate([specials(dtype), numbers(13, 30, dtype, 4)])
        for name in later.split():
            yield Case(f"{name}_{dtype.name}", clause, name, [np.abs(x) if name == "acosh" else x])
        y, x = pairs(dtype)
        yield Case(f"atan2_{dtype.name}", clause, "atan2", [np.append(y, numbers(14, 40, dtype, 3)),
                   np.append(x, numbers(15, 40, dtype, 3))])  # fmt: skip


INTEGERS = [np.dtype(f"{u}int{n}") for n in (8, 16, 32, 64) for u in ("", "u")]


def integers() -> Iterator[Case]:
    """ELT-10 to ELT-14: integers of every width, and what reads a float's word."""
    one = "neg abs sign square bitwise_not population_count clz"
    two = ("add sub mul mulhi div rem maximum minimum eq ne lt le gt ge bitwise_and bitwise_or bitwise_xor shift_left "
           "shift_right_logical shift_right_arithmetic eq_to lt_to le_to")  # fmt: skip
    clauses = {"div": 12, "rem": 12, "population_count": 13, "clz": 13}
    clauses |= {f"shift_{way}": 13 for way in ("left", "right_logical", "right_arithmetic")}
    clauses |= dict.fromkeys(("eq_to", "lt_to", "le_to"), 11)
    for dtype in INTEGERS:
        info = np.iinfo(dtype)
        edges = [0, 1, 2, 7, info.bits - 1, info.bits, info.max, info.max // 3, info.min, info.min + 1]
        x = np.array(edges + [-1, -2, -9] * (info.min < 0), dtype)
        a, b = (v.ravel() for v in np.meshgrid(x, x))
        for name in one.split():
            yield Case(f"{name}_{dtype.name}", f"ELT-{clauses.get(name, 10)}", name, [x])
        for name in two.split():
            yield Case(f"{name}_{dtype.name}", f"ELT-{clauses.get(name, 10)}", name, [a, b])
        for p in (0, 1, 5):
            yield Case(f"integer_pow_{dtype.name}_{p}", "ELT-10", "integer_pow", [x], {"exponent": p})
    for dtype in FLOATS:
        a, b = pairs(dtype)
        for name in ("eq_to", "lt_to", "le_to"):
            yield Case(f"{name}_{dtype.name}", "ELT-11", name, [a, b])
        x = np.concatenate([specials(dtype), numbers(14, 30, dtype, 12)])
        for e, m in ((5, 10), (8, 7), (4, 3), (1, 1), (11, 0), (3, 60)):
            yield Case(f"reduce_precision_{dtype.name}_{e}_{m}", "ELT-14", "reduce_precision", [x],
                       {"exponent_bits": e, "mantissa_bits": m})  # fmt: skip


def complexes() -> Iterator[Case]:
    one = {3: "square", 5: "abs", 4: "sign", 2: "neg conj real imag is_finite", 6: "sqrt rsqrt",
           7: "exp exp2 expm1 logistic", 8: "log log1p", 9: "sinh cosh tanh sin cos tan",
           10: "asin acos atan asinh acosh atanh"}  # fmt: skip
    two = {2: "eq ne", 3: "add sub mul", 4: "div", 8: "pow"}
    for part, dtype in ((F32, np.dtype(np.complex64)), (F64, np.dtype(np.complex128))):
        x, y = pairs(part)
        x, y = (np.append(v[::3], numbers(i, 20, part)) for i, v in ((30, x), (31, y)))
        z, few = order.complex(x, y), order.complex(x[::8], y[::8])
        a, b = (np.append(v.ravel(), z[-20:][::s]) for v, s in zip(np.meshgrid(few, few), (1, -1), strict=True))
        for clause, names in one.items():
            yield from _those_there(f"_{dtype.name}", f"CPX-{clause}", names, [z])
        for clause, names in two.items():
            yield from _those_there(f"_{dtype.name}", f"CPX-{clause}", names, [a, b])
        for p in (-2, -1, 0, 1, 3, 6):
            yield Case(f"integer_pow_{dtype.name}_{p}", "CPX-3", "integer_pow", [z], {"exponent": p})
        yield Case(f"complex_{dtype.name}", "CPX-2", "complex", [x, y])
        for target in ("complex64", "complex128", "float32", "float64", "int8", "uint64", "bfloat16", "bool"):
            if target != dtype.name:
                yield Case(f"{dtype.name}_to_{target}", "CVT-8", "convert", [z], {"dtype": target})
        for source in (part, BF16, INTEGERS[2]):
            yield Case(f"{source.name}_to_{dtype.name}", "CVT-8", "convert", [x[-20:].astype(source)],
                       {"dtype": dtype.name})  # fmt: skip
        for n in (1, 300):
            w = order.complex(numbers(n, n, part), numbers(n + 1, n, part))
            for name in ("sum", "mean", "cumsum", "accumulate"):
                yield Case(f"{name}_{dtype.name}_n{n}", "CPX-11", name, [w])
            yield Case(f"matmul_{dtype.name}_k{n}", "CPX-12", "matmul", [w[None], np.stack([w[::-1], w], axis=1)])
        for clause, name in ((11, "add"), (13, "mul"), (14, "max"), (14, "min")):
            yield Case(f"scatter_{name}_{dtype.name}", f"CPX-{clause}", f"scatter_{name}",
                       [z[-5:], np.array([3, 0, 3, -1, 7, 3], np.int32), z[-11:-5]])  # fmt: skip
        for clause, name in ((13, "prod"), (14, "max"), (14, "min")):
            for n in (0, 1, 13):
                yield Case(f"{name}_{dtype.name}_n{n}", f"CPX-{clause}", name, [z[-n:] if n else z[:0]])
            yield Case(f"cum{name}_{dtype.name}", f"CPX-{clause}", f"cum{name}", [z[-13:]])
        for name in ("maximum", "minimum"):
            yield Case(f"{name}_{dtype.name}", "CPX-14", name, [a, b])


def _those_there(suffix: str, clause: str, names: str, inputs: list[NDArray]) -> Iterator[Case]:
    """Cases of the names that the reference has with all that they are made of."""
    for name in names.split():
        case = Case(name + suffix, clause, name, inputs)
        try:
            case.compute()
        except (AttributeError, NotImplementedError):
            continue
        yield case


def special() -> Iterator[Case]:
    for dtype in FLOATS:
        x = np.concatenate([specials(dtype), numbers(31, 30, dtype, 3)])
        inside = numbers(32, 30, dtype, 3) * np.array(1 / 64, dtype)  # exact; inside erf_inv's domain
        for name in ("erfc", "erf_inv", "lgamma", "digamma", "bessel_i0e", "bessel_i1e"):
            clause = "FUN-2" if dtype == F64 else "FUN-1" if name == "erfc" else "FUN-7"
            yield Case(f"{name}_{dtype.name}", clause, name, [np.append(x, inside)])
        a, b = pairs(dtype)
        clause = "FUN-2" if dtype == F64 else "FUN-7"
        exponent = np.append(a, 1 + np.abs(numbers(33, 20, dtype, 2)))
        yield Case(f"zeta_{dtype.name}", clause, "zeta", [exponent, np.append(b, numbers(34, 20, dtype, 3))])
        order_ = np.append(a, np.arange(20).astype(dtype))
        yield Case(f"polygamma_{dtype.name}", clause, "polygamma", [order_, np.append(b, numbers(35, 20, dtype, 3))])


def rows() -> Iterator[Case]:
    clauses = {"softmax": 2, "log_softmax": 3, "logsumexp": 4, "layer_norm": 7, "rms_norm": 8, "gelu": 9, "silu": 11}
    for dtype in FLOATS:
        n = 21
        x, u, each = numbers(31, (2, n), dtype, 2), numbers(32, (2, n), dtype), numbers(33, 2, dtype)
        g, b = numbers(34, n, dtype), numbers(35, n, dtype)
        for name, clause in clauses.items():
            scales = {"layer_norm": [g, b], "rms_norm": [g]}.get(name, [])
            yield Case(f"{name}_{dtype.name}", f"ROW-{clause}", name, [x, *scales])
            gradient = each if name == "logsumexp" else u
            yield Case(f"{name}_vjp_{dtype.name}", f"ROW-{clause}", f"{name}_vjp", [x, gradient, *scales[:1]])
        by_erfc = {"approximate": 0}
        yield Case(f"gelu_erfc_{dtype.name}", "ROW-10", "gelu", [x], by_erfc)
        yield Case(f"gelu_erfc_vjp_{dtype.name}", "ROW-10", "gelu_vjp", [x, u], by_erfc)
        label, p = np.array([20, 3], np.int32), np.abs(u)
        for clause, labels in ((5, label), (6, p)):
            yield Case(f"cross_entropy{clause}_{dtype.name}", f"ROW-{clause}", "cross_entropy", [x, labels])
            yield Case(f"cross_entropy{clause}_vjp_{dtype.name}", f"ROW-{clause}", "cross_entropy_vjp",
                       [x, labels, each])  # fmt: skip
        image, of = numbers(36, (2, 4, 5), dtype), {"eps": 0.001}
        yield Case(f"group_norm_{dtype.name}", "ROW-7", "group_norm", [image, np.array(2), g[:4], b[:4]], of)
        yield Case(f"group_norm_vjp_{dtype.name}", "ROW-7", "group_norm_vjp",
                   [image, numbers(37, (2, 4, 5), dtype), np.array(2), g[:4]], of)  # fmt: skip
        for interleaved in (0, 1):
            yield Case(f"rotary{interleaved}_{dtype.name}", "ROW-12", "rotary", [x[:, :20], u[:, :10], u[:, 10:20]],
                       {"interleaved": interleaved})  # fmt: skip
        yield Case(f"rotary_vjp_{dtype.name}", "ROW-12", "rotary_vjp", [x[:, :20], u[:, :10], u[:, 10:20]])
    long = numbers(38, (1, 600), F32, 2)
    for name in ("softmax", "layer_norm", "layer_norm_vjp"):
        yield Case(f"long_{name}", f"ROW-{clauses[name.removesuffix('_vjp')]}", name,
                   [long, *[numbers(39, (1, 600), F32)] * name.endswith("_vjp")])  # fmt: skip
    odd = np.array(
        [[-np.inf] * 3, [1, np.inf, 2], [1, -np.inf, 2], [1, np.nan, 2], [0, -0.0, 0], [1e-45, 3e38, -3e38]], F32
    )
    for name, clause in clauses.items():
        yield Case(f"{name}_special", f"ROW-{clause}", name, [odd])
        gradient = odd[:, 0] if name == "logsumexp" else odd
        yield Case(f"{name}_vjp_special", f"ROW-{clause}", f"{name}_vjp", [odd, gradient])


FAMILIES = {
    "dot": ("dot products (DOT)", dots),
    "conv": ("convolutions (CONV)", convolutions),
    "attention": ("attention and its derivative (ATT)", attentions),
    "sum": ("sums, means, products (SUM, PROD)", sums),
    "extrema": ("max, min, argmax, argmin, any, all (MAX, ARG, ANY)", extrema),
    "accumulate": ("ordered accumulation (ACC)", accumulations),
    "cumulative": ("cumulative sum, product, max, min (CUM)", cumulatives),
    "scatter": ("scatters (SCT)", scatters),
    "window": ("windows (WIN)", windowed),
    "top_k": ("the largest in order, sorting (TOP, EXACT)", sorted_ones),
    "elementwise": ("elementwise arithmetic (ELT)", elementwise),
    "convert": ("conversions (CVT)", conversions),
    "functions": ("functions (FUN)", functions),
    "integers": ("integers, total order, reduced precision (ELT-10 to ELT-14)", integers),
    "complex": ("complex numbers (CPX)", complexes),
    "special": ("special functions (FUN)", special),
    "rows": ("rows and their gradients (ROW)", rows),
}


def main(arguments: list[str]) -> int:
    if arguments not in ([], ["--check"]):
        print(__doc__, file=sys.stderr)
        return 3
    moved = []
    for name, (title, cases) in FAMILIES.items():
        path = HERE / f"{name}.txt"
        if arguments:
            moved += [
                f"{name}: {c.name}" for c in read(path) if c.output is None or not bits.same(c.compute(), c.output)
            ]
        else:
            made = list(cases())
            for case in made:
                case.output = case.compute()
            if made:
                write(path, title, made)
    print("\n".join(["these no longer come out:", *moved]) if moved else "done", file=sys.stderr)
    return 1 if moved else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
