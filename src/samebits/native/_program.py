"""Builds a native program: several operations of the contract as one call (samebits.h, "programs").

A builder is a graph of nodes seen through views. ``words`` drops what no output needs, merges elementwise nodes of one
shape into maps, lets a matrix product write in the order in which it is read, and lays out the words. All of this is
tuning: each operation rounds by its own clause wherever it lands.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from samebits._errors import NativeError
from samebits.native._arrays import MAX_RANK, merge_jointly, rounded
from samebits.native._conv_step import Spatial
from samebits.native._library import DTYPES, opcode
from samebits.native._map import ON_WORDS, PREDICATES
from samebits.native._next import next_narrow
from samebits.native._views import Shape, View, contiguous_strides, merge, one_axis
from samebits.order._complex import Real
from samebits.order._window_shape import Windows

MAGIC = 0x53414D4542495431
STEPS = ("map", "dot", "reduce", "cumulative", "scatter", "copy", "conv", "window", "top_k", "attention",
         "attention_backward")  # fmt: skip
"""Kinds of steps, by their number in the C ABI (enum sb_step_kind)."""
REDUCTIONS = {name: i for i, name in enumerate(("sum", "prod", "max", "min", "argmax", "argmin", "any", "all",
                                                "accumulate"))}  # fmt: skip
"""Numbers of reductions (enum sb_reduce_op)."""
CUMULATIVE = {name: REDUCTIONS[name] for name in ("sum", "prod", "max", "min")} | {"logsumexp": 32}
"""Numbers of cumulative operations; 32 is SB_LOGADDEXP."""
_NARROW = ("float16", "bfloat16")


def item_size(dtype: str) -> int:
    """Bytes of one element."""
    return 2 if dtype in _NARROW else np.dtype(dtype).itemsize


@dataclass(eq=False)
class Node:
    """One operation; its value is dense and row-major in `shape` (unless a step writes it in another order)."""

    kind: str
    dtype: str
    shape: Shape
    operands: tuple[View, ...] = ()
    params: dict[str, Any] = field(default_factory=dict)

    @property
    def size(self) -> int:
        return math.prod(self.shape)


@dataclass(eq=False)
class _Step:
    """Nodes that run as one step: a map of many, or one of anything else."""

    kind: str
    shape: Shape = ()
    nodes: list[Node] = field(default_factory=list)


@dataclass(frozen=True)
class Arithmetic:
    """The arithmetic of samebits.order._complex that adds nodes to a program."""

    program: "Program"
    dtype: str

    @property
    def double(self) -> bool:
        return self.dtype == "float64"

    def apply(self, name: str, *operands: View) -> View:
        return self.program.map(name, *operands)

    def constant(self, value: float) -> View:
        return self.program.constant(value, self.dtype)


def _whole(node: Node) -> View:
    return View(node, node.dtype, node.shape, contiguous_strides(node.shape))


class Program:
    """A graph of contract operations over arguments, made into words by ``words``."""

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self.arguments: list[Node] = []
        self._seen: dict[Any, Node] = {}
        self.in_place: set[tuple[int, int]] = set()
        """Pairs (argument, result) that may be the same memory, once `words` has been called."""

    # ---- nodes ----

    def _add(self, node: Node) -> View:
        self.nodes.append(node)
        return _whole(node)

    def _once(self, node: Node) -> View:
        """A node, or the one that has computed the same before: derivatives repeat joins and products."""
        key = (node.kind, node.dtype, node.shape, node.operands, repr(node.params))
        if key not in self._seen:
            self._seen[key] = node
            self.nodes.append(node)
        return _whole(self._seen[key])

    def argument(self, dtype: str, shape: Sequence[int]) -> View:
        """The next argument: a dense row-major array."""
        node = Node("argument", dtype, tuple(shape))
        self.arguments.append(node)
        return self._add(node)

    def constant(self, value: Any, dtype: str) -> View:
        """A scalar constant of this dtype; a NumPy scalar keeps its bits."""
        raw = value.tobytes() if isinstance(value, np.generic) else rounded(value, np.dtype(dtype)).tobytes()
        bits = int.from_bytes(raw, "little", signed=False)
        return self._map_node("const", dtype, dtype, (), (), bits - (1 << 64) if bits >> 63 else bits)

    def _map_node(self, op: str, dtype: str, result: str, shape: Shape, operands: tuple[View, ...], imm: int) -> View:
        key = (op, dtype, result, shape, operands, imm)
        node = self._seen.get(key)
        if node is None:
            code = opcode(op)
            if code < 0:
                raise NativeError(f"the native library has no operation {op!r}; rebuild it with 'make build'")
            node = Node("map", result, shape, operands, {"code": code, "name": op, "dtype": dtype, "imm": imm})
            self._seen[key] = node
            self.nodes.append(node)
        return _whole(node)

    def map(self, op: str, *views: View, imm: int = 0) -> View:
        """One elementwise operation (native/include/samebits/ops.def); operands are broadcast as in NumPy.

        For select: condition, value where true, value where false. Operands in float16 or bfloat16 are widened to
        float32 and the result is rounded once (clause CVT-*).
        """
        shape = np.broadcast_shapes(*(v.shape for v in views))
        views = tuple(
            v if v.shape == shape else v.broadcast(shape, range(len(shape) - len(v.shape), len(shape))) for v in views
        )
        dtype = views[-1].dtype
        if dtype in _NARROW and op not in ON_WORDS:
            wide = [self.convert(v, "float32") for v in views]
            if op == "nextafter":
                x, y = (Real(v, Arithmetic(self, "float32")) for v in wide)
                out = next_narrow(x, y, np.dtype(dtype)).value
            else:
                out = self.map(op, *wide, imm=imm)
            return out if out.dtype == "bool" else self.convert(out, dtype)
        return self._map_over(op, dtype, "bool" if op in PREDICATES else dtype, shape, views, imm)

    def convert(self, view: View, dtype: str) -> View:
        """The value in another dtype (clauses CVT-*)."""
        if view.dtype == dtype:
            return view
        return self._map_over("convert", view.dtype, dtype, view.shape, (view,), DTYPES.index(dtype))

    def _map_over(self, op: str, dtype: str, result: str, shape: Shape, views: tuple[View, ...], imm: int) -> View:
        """A map node over operands of this shape, without its axes of size one; flat where those left are too many."""
        kept = tuple(n for n in shape if n != 1)
        if len(kept) > MAX_RANK:
            kept = (math.prod(shape),)
        out = self._map_node(op, dtype, result, kept, tuple(self.reshape(v, kept) for v in views), imm)
        return replace(out, shape=shape, strides=contiguous_strides(shape))

    def bits(self, view: View, dtype: str) -> View:
        """The same bytes read as another dtype of the same size."""
        return self.join(dtype, view.shape, [(view, 0, contiguous_strides(view.shape))])

    def copy(self, view: View) -> View:
        """The elements of a view, dense and row-major."""
        return self.join(view.dtype, view.shape, [(view, 0, contiguous_strides(view.shape))])

    def reshape(self, view: View, shape: Sequence[int]) -> View:
        """The elements in row-major order under another shape; copies only where strides cannot say it."""
        return view.reshape(shape) or _require(self.copy(view).reshape(shape))

    def join(self, dtype: str, shape: Sequence[int], pieces: list[tuple[View, int, Shape]]) -> View:
        """A new value written by copies, in order: each piece at an offset with strides (concatenate, pad)."""
        steps = [(offset, strides) for _, offset, strides in pieces]
        return self._once(Node("join", dtype, tuple(shape), tuple(v for v, _, _ in pieces), {"steps": steps}))

    def dot(self, a: View, b: View, contract: tuple[Sequence[int], Sequence[int]],
            batch: tuple[Sequence[int], Sequence[int]], out_dtype: str) -> View:  # fmt: skip
        """lax.dot_general (clauses DOT-*, FLAT-*): batch axes, then the free axes of a, then those of b."""
        free_a = [i for i in range(len(a.shape)) if i not in (*contract[0], *batch[0])]
        free_b = [i for i in range(len(b.shape)) if i not in (*contract[1], *batch[1])]
        shape = tuple(v.shape[i] for v, g in ((a, batch[0]), (a, free_a), (b, free_b)) for i in g)
        ends = [0, len(batch[0]), len(batch[0]) + len(free_a), len(shape)]
        axes = [list(range(ends[i], ends[i + 1])) for i in range(3)]  # of the result: batch, m, n
        left, right = [list(batch[0]), free_a, list(contract[0])], [list(batch[1]), free_b, list(contract[1])]
        if not axes[0]:
            # Without batch axes, outer free axes that do not merge with the inner ones can walk as batch: no copy.
            for view, mine, free in ((b, right, 2), (a, left, 1)):
                cut = _outer_axes(view, mine[1])
                if cut:
                    mine[0], mine[1] = mine[1][:cut], mine[1][cut:]
                    axes[0], axes[free] = axes[free][:cut], axes[free][cut:]
                    break
        sizes = [math.prod(shape[i] for i in g) for g in axes] + [math.prod(a.shape[i] for i in contract[0])]
        if sizes[3] == 1:
            a, b = (v.only([*batch[i], *free]) for i, (v, free) in enumerate(((a, free_a), (b, free_b))))
            return self._outer(a, b, len(batch[0]), shape, out_dtype)
        a, a_strides = self._three(a, left)
        b, b_strides = self._three(b, right)
        node = Node("dot", out_dtype, shape, (a, b), {
            "axes": axes, "sizes": sizes, "a": a_strides, "b": [b_strides[i] for i in (0, 2, 1)]})  # fmt: skip
        return self._once(node)

    def _outer(self, a: View, b: View, batch: int, shape: Shape, out_dtype: str) -> View:
        """A product of one term, [batch, m] by [batch, n]: fma(a, b, +0) + (+0) is a * b + (+0), elementwise.

        The gradient of a weight for each example is many small ones, and each call of the dot kernel would cost more
        than its product.
        """
        rows = len(a.shape) - batch
        a = a.broadcast(shape, range(batch + rows))
        b = b.broadcast(shape, [*range(batch), *range(batch + rows, len(shape))])
        if a.dtype in _NARROW:
            a, b = self.convert(a, "float32"), self.convert(b, "float32")
        zero = self.constant(0, a.dtype)
        return self.convert(self.map("add", self.map("mul", a, b), zero), out_dtype)

    def _three(self, view: View, groups: Sequence[Sequence[int]]) -> tuple[View, list[int]]:
        """The strides of three groups of axes, each walked by one; a copy where no single stride does."""

        def walked(view: View, groups: Sequence[Sequence[int]]) -> list[int] | None:
            axes = [one_axis([view.shape[i] for i in g], [view.strides[i] for i in g]) for g in groups]
            return None if None in axes else [a[1] for a in axes if a is not None]

        strides = walked(view, groups)
        if strides is None:
            view = self.copy(view.transpose(i for g in groups for i in g))
            ends = np.cumsum([0, *(len(g) for g in groups)]).tolist()
            strides = walked(view, [range(ends[i], ends[i + 1]) for i in range(3)])
        assert strides is not None, "a dense copy has one stride a group"
        return view, strides

    def reduce(self, op: str, view: View, axes: Sequence[int], out_dtype: str | None = None) -> View:
        """A reduction over axes, flattened row-major in axis order (clauses SUM-*, PROD-*, MAX-*, ARG-*, ACC-*)."""
        axes = sorted(axes)
        kept = [i for i in range(len(view.shape)) if i not in axes]
        layout = [merge([view.shape[i] for i in g], [view.strides[i] for i in g]) for g in (kept, axes)]
        if any(len(sizes) > MAX_RANK for sizes, _ in layout):
            view = self.copy(view.transpose([*kept, *axes]))
            return self.reduce(op, view, range(len(kept), len(view.shape)), out_dtype)
        node = Node("reduce", out_dtype or view.dtype, tuple(view.shape[i] for i in kept), (view,),
                    {"op": REDUCTIONS[op], "layout": layout})  # fmt: skip
        return self._once(node)

    def cumulative(self, op: str, view: View, axis: int, reverse: bool = False) -> View:
        """A cumulative sum, prod, max, min or logsumexp along an axis (clauses CUM-*)."""
        rest = [i for i in range(len(view.shape)) if i != axis]
        across = ([s[i] for i in rest] for s in (view.shape, view.strides, contiguous_strides(view.shape)))
        if len(merge_jointly(*across)[0]) > MAX_RANK:
            view = self.copy(view)
        return self._add(Node("cumulative", view.dtype, view.shape, (view,),
                              {"op": CUMULATIVE[op], "axis": axis, "reverse": reverse}))  # fmt: skip

    def scatter(self, op: str, operand: View, index: View, updates: View) -> View:
        """operand [n, ...] with updates [*index's shape, ...], by rows, one at a time in ascending order (SCT-*)."""
        parts = tuple(v if v.is_whole else self.copy(v) for v in (operand, index, updates))
        return self._add(Node("scatter", operand.dtype, operand.shape, parts, {"op": REDUCTIONS[op]}))

    def conv(self, x: View, w: View, out_axes: Sequence[int], spatial: Spatial, out_dtype: str) -> View:
        """A convolution of x [n, g, c, *image] and w [g, o, c, *kernel] (clauses CONV-*).

        The result is [n, g o, *image] with these axes in the order `out_axes`.
        """
        shape = (x.shape[0], w.shape[0] * w.shape[1], *spatial.out)
        return self._add(Node("conv", out_dtype, tuple(shape[i] for i in out_axes), (x, w),
                              {"axes": tuple(out_axes), "spatial": spatial}))  # fmt: skip

    def window(self, op: str, view: View, w: Windows, out_dtype: str | None = None) -> View:
        """A sum, prod, max, min, argmax or argmin over windows of up to MAX_RANK axes (clauses WIN-*)."""
        return self._add(Node("window", out_dtype or view.dtype, w.out, (view,), {"op": REDUCTIONS[op], "windows": w}))

    def top_k(self, view: View, k: int, axis: int, largest: bool, index_dtype: str) -> tuple[View, View]:
        """The first k along an axis in descending or ascending order, and their indices (clauses TOP-*): k last."""
        others = [i for i in range(len(view.shape)) if i != axis]
        if len(merge([view.shape[i] for i in others], [view.strides[i] for i in others])[0]) > MAX_RANK:
            view = self.copy(view)
        shape = (*(view.shape[i] for i in others), k)
        indices = Node("part", index_dtype, shape)
        values = Node("top_k", view.dtype, shape, (view,), {"axis": axis, "largest": largest, "indices": indices})
        out = self._add(values)
        indices.operands = (out,)
        return out, self._add(indices)

    # ---- words ----

    def words(self, outputs: Sequence[View]) -> np.ndarray:
        """The program's words (int64); each output becomes a dense row-major result."""
        from samebits.native._layout import lay_out

        return lay_out(self, list(outputs))


def _outer_axes(view: View, free: Sequence[int]) -> int:
    """How many leading free axes to split off so that both parts are walked by one stride; 0 where none helps."""

    def merged(part: Sequence[int]) -> bool:
        return one_axis([view.shape[i] for i in part], [view.strides[i] for i in part]) is not None

    if merged(free):
        return 0
    return next((cut for cut in range(1, len(free)) if merged(free[:cut]) and merged(free[cut:])), 0)


def _require(view: View | None) -> View:
    assert view is not None, "a dense value takes any shape"
    return view
