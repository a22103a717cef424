"""Golden vectors: reads and writes the files beside it, and makes them from samebits.order.

    python spec/vectors/generate.py            # writes *.txt; only for a new contract version (clause VER-1)
    python spec/vectors/generate.py --check    # exit status 1 where the reference no longer gives them

The format is in spec/README.md. Inputs are made of integers by exact arithmetic alone, so that they are the same on
every machine, and are stored all the same: a reader needs nothing but the file.
"""

import sys
from ast import literal_eval
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from samebits import bits, order

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
        return joined(getattr(order, self.operation)(*self.inputs, **self.keywords))


def joined(result: NDArray | tuple[NDArray, ...]) -> NDArray:
    """A result; several of one dtype one after the other."""
    return np.concatenate([r.ravel() for r in result]) if isinstance(result, tuple) else result


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
    return key, value if key.endswith(("dtype", "layout")) else literal_eval(value)


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


def scatters() -> Iterator[Case]:
    index = np.array([3, 0, 3, 3, -1, 7, 2, 3, 0, 2**31 - 1, 3], np.int32)
    for dtype in FLOATS:
        for operation in ("scatter_add", "scatter_mul", "scatter_max", "scatter_min"):
            yield Case(f"{operation}_{dtype.name}", "SCT-1", operation,
                       [numbers(6, 5, dtype), index, numbers(7, len(index), dtype)])  # fmt: skip
    x = specials(F32)
    yield Case("untouched_keep_bits", "SCT-1", "scatter_add", [x, np.array([0, 1], np.int64), x[:2]])


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
                if name == "nextafter" and dtype in (F16, BF16):
                    continue
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


def functions() -> Iterator[Case]:
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
    "sum": ("sums, means, products (SUM, PROD)", sums),
    "extrema": ("max, min, argmax, argmin, any, all (MAX, ARG, ANY)", extrema),
    "accumulate": ("ordered accumulation (ACC)", accumulations),
    "cumulative": ("cumulative sum, product, max, min (CUM)", cumulatives),
    "scatter": ("scatters (SCT)", scatters),
    "elementwise": ("elementwise arithmetic (ELT)", elementwise),
    "convert": ("conversions (CVT)", conversions),
    "functions": ("functions (FUN)", functions),
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
