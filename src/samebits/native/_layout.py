"""From a graph of contract operations to the words of a program: liveness, fusion, buffers, encoding."""

import math
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np

from samebits.native._arrays import MAX_RANK, merge_jointly, padded
from samebits.native._conv_step import conv_words
from samebits.native._library import DTYPES
from samebits.native._program import (
    MAGIC,
    STEPS,
    Node,
    Program,
    _Step,
    item_size,
)  # fmt: skip
from samebits.native._views import Shape, View, contiguous_strides, merge, one_axis, squeeze


def lay_out(program: Program, outputs: list[View]) -> np.ndarray:
    """The words of the program that computes `outputs`."""
    # A result is a buffer of its own: what is an argument, a part, or asked for twice is copied out.
    results: list[Node] = []
    for view in outputs:
        direct = view.is_whole and view.node.kind != "argument" and view.node not in results
        if direct and view.node.kind == "map" and view.node.params["name"] == "const":
            direct = False
        results.append(view.node if direct else _copy(program, view))
    views = [View(n, n.dtype, n.shape, contiguous_strides(n.shape)) for n in results]
    live = _live(program.nodes, results)
    layout = _Layout(live, views)
    program.in_place = layout.in_place(program.arguments, results)
    return layout.encode(program.arguments, results)


def _copy(program: Program, view: View) -> Node:
    """A buffer of its own: `Program.copy` may return one that there is."""
    node = Node("join", view.dtype, view.shape, (view,), {"steps": [(0, contiguous_strides(view.shape))]})
    program.nodes.append(node)
    return node


def _live(nodes: list[Node], roots: Iterable[Node]) -> list[Node]:
    """The nodes that the roots need, in the order of their making."""
    needed = set()
    stack = list(roots)
    while stack:
        node = stack.pop()
        if node not in needed:
            needed.add(node)
            stack.extend(v.node for v in node.operands)
    return [n for n in nodes if n in needed]


def _is_const(node: Node) -> bool:
    return node.kind == "map" and node.params["name"] == "const"


_FIXED: tuple[Shape, Shape] = (), (-1,)  # no transposition: a reader that leaves the order as it is


class _Layout:
    def __init__(self, live: list[Node], outputs: list[View]):
        self.order: dict[Node, list[int]] = {}  # for a dot read in one other order: its strides in the buffer
        self._choose_orders(live, outputs)
        self.steps: list[_Step] = []
        self.step_of: dict[Node, int] = {}
        self._schedule(live)

    # ---- the order in which a product is written ----

    def _choose_orders(self, live: list[Node], outputs: list[View]) -> None:
        """A product whose readers all see it transposed is written transposed (`W @ x` under vmap is)."""
        readers: dict[Node, set[tuple[Shape, Shape]]] = {n: set() for n in live if n.kind == "dot"}
        for view in [v for n in live for v in n.operands] + outputs:
            if view.node in readers:
                readers[view.node].add(squeeze(view.shape, view.strides) if view.offset == 0 else _FIXED)
        for view in (v for n in live if n.kind in ("dot", "reduce") for v in n.operands):
            if view.node in readers:  # these have taken the strides of their operands when they were made
                readers[view.node].add(_FIXED)
        for node, seen in readers.items():
            natural = dict(zip(*reversed(squeeze(node.shape, contiguous_strides(node.shape))), strict=True))
            if len(seen) != 1 or node.size == 0:
                continue
            shape, strides = next(iter(seen))
            if (shape, strides) == _FIXED:
                continue
            if dict(zip(strides, shape, strict=True)) != natural or len(strides) != len(natural):
                continue
            written = dict(zip(strides, contiguous_strides(shape), strict=True))
            dense = [written.get(s, 0) for s in contiguous_strides(node.shape)]
            if all(one_axis(g, s) is not None for g, s in _grouped(node, dense)):
                self.order[node] = dense

    def resolve(self, view: View) -> View:
        """The view in terms of the buffer as written."""
        if view.node in self.order:
            return replace(view, strides=contiguous_strides(view.shape))
        return view

    # ---- which nodes run together ----

    def _schedule(self, live: list[Node]) -> None:
        maps: dict[Shape, list[int]] = {}
        for node in live:
            if node.kind in ("argument", "part"):  # a part is written by another node's step
                continue
            if node.kind != "map":
                self._append(_Step(node.kind, node.shape), node)
                if node.kind == "top_k":
                    self.steps[-1].nodes.append(node.params["indices"])
                    self.step_of[node.params["indices"]] = len(self.steps) - 1
                continue
            earliest = 0
            for view in map(self.resolve, node.operands):
                at = self.step_of.get(view.node)
                if at is None or _is_const(view.node):
                    continue
                together = self.steps[at].kind == "map" and self.steps[at].shape == node.shape
                aligned = together and view.is_whole and view.shape == node.shape
                earliest = max(earliest, at if aligned else at + 1)
            known = maps.setdefault(node.shape, [])
            at = bisect_left(known, earliest)
            if at < len(known):
                self.steps[known[at]].nodes.append(node)
                self.step_of[node] = known[at]
            else:
                known.append(len(self.steps))
                self._append(_Step("map", node.shape), node)

    def _append(self, step: _Step, node: Node) -> None:
        step.nodes.append(node)
        self.step_of[node] = len(self.steps)
        self.steps.append(step)

    # ---- what may be written where an argument was ----

    def in_place(self, arguments: list[Node], results: list[Node]) -> set[tuple[int, int]]:
        """(argument, result): a map writes the result, and it alone reads the argument, in the order of the result."""
        reads: dict[Node, set[tuple[int, View]]] = {n: set() for n in arguments}
        for node, at in self.step_of.items():
            for view in map(self.resolve, node.operands):
                if view.node in reads:
                    reads[view.node].add((at, replace(view, dtype=view.node.dtype)))
        found = set()
        for i, argument in enumerate(arguments):
            if len(reads[argument]) != 1:
                continue
            ((at, view),) = reads[argument]
            step = self.steps[at]
            whole = view.offset == 0 and view.strides == contiguous_strides(view.shape) and view.size == argument.size
            if step.kind == "map" and whole and view.shape == step.shape:
                made = [j for j, n in enumerate(results) if self.step_of.get(n) == at]
                found |= {(i, j) for j in made if item_size(results[j].dtype) == item_size(argument.dtype)}
        return found

    # ---- words ----

    def encode(self, arguments: list[Node], results: list[Node]) -> np.ndarray:
        self.buffer: dict[Node, int] = {n: i for i, n in enumerate([*arguments, *results])}
        outside: set[Node] = set(results)
        outside.update(n for step in self.steps if step.kind == "top_k" for n in step.nodes)
        for i, step in enumerate(self.steps):
            for node in step.nodes:
                for view in map(self.resolve, node.operands):
                    inside = self.step_of.get(view.node) == i
                    if not inside and not (step.kind == "map" and _is_const(view.node)):
                        outside.add(view.node)
        scratch: list[Node] = []
        for step in self.steps:
            for node in step.nodes:
                if node in outside and node not in self.buffer:
                    self.buffer[node] = len(arguments) + len(results) + len(scratch)
                    scratch.append(node)
        words: list[int] = []
        count = 0
        for step in self.steps:
            for kind, operands, payload in self._encode(step, outside):
                words += [STEPS.index(kind), len(operands) // 2, *operands, len(payload), *payload]
                count += 1
        sizes = [n.size * item_size(n.dtype) for n in [*arguments, *results, *scratch]]
        head = [MAGIC, len(arguments), len(results), len(scratch), count, *sizes]
        return np.array(head + words, dtype=np.int64)

    def _at(self, view: View) -> list[int]:
        return [self.buffer[view.node], view.offset * item_size(view.dtype)]

    def _encode(self, step: _Step, outside: set[Node]) -> list[tuple[str, list[int], list[int]]]:
        if step.kind == "map":
            return self._encode_map(step, outside)
        node = step.nodes[0]
        views = [self.resolve(v) for v in node.operands]
        out = View(node, node.dtype, node.shape, contiguous_strides(node.shape))
        operands = [w for v in [*views, out] for w in self._at(v)]
        p = node.params
        if step.kind == "dot":
            dense = self.order.get(node, list(contiguous_strides(node.shape)))
            written = [a[1] for a in (one_axis(g, s) for g, s in _grouped(node, dense)) if a is not None]
            payload = [DTYPES.index(views[0].dtype), DTYPES.index(node.dtype), *p["sizes"], *p["a"], *p["b"], *written]
            return [("dot", operands, payload)]
        if step.kind == "reduce":
            payload = [p["op"], DTYPES.index(views[0].dtype), DTYPES.index(node.dtype)]
            for sizes, strides in p["layout"]:
                payload += [len(sizes), *padded(sizes), *padded(strides)]
            return [("reduce", operands, payload)]
        if step.kind == "cumulative":
            (view,), axis = views, p["axis"]
            rest = [i for i in range(len(view.shape)) if i != axis]
            sizes, steps = merge_jointly(*([s[i] for i in rest] for s in (view.shape, view.strides, out.strides)))
            payload = [p["op"], DTYPES.index(node.dtype), int(p["reverse"]), len(sizes)]
            payload += [w for row in (sizes, *steps) for w in padded(row)]
            return [("cumulative", operands, [*payload, view.shape[axis], view.strides[axis], out.strides[axis]])]
        if step.kind == "scatter":
            index, updates = views[1].size, views[2].size
            rows, width = node.size, 1
            if len(node.shape) > 1:
                rows, width = node.shape[0], math.prod(node.shape[1:])
            assert updates == index * width, "a row of updates for each index"
            payload = [p["op"], DTYPES.index(node.dtype), DTYPES.index(views[1].dtype), rows, index, width]
            return [("scatter", operands, payload)]
        if step.kind == "conv":
            return [("conv", operands, conv_words(node, views))]
        if step.kind == "window":
            (view,), w = views, p["windows"]
            rows = (view.shape, view.strides, w.window, w.strides, w.low, w.base_dilation, w.window_dilation, w.out,
                    out.strides)  # fmt: skip
            payload = [p["op"], DTYPES.index(view.dtype), DTYPES.index(node.dtype), len(view.shape)]
            return [("window", operands, payload + [x for row in rows for x in padded(row)])]
        if step.kind == "top_k":
            (view,), axis, indices = views, p["axis"], p["indices"]
            rest = [i for i in range(len(view.shape)) if i != axis]
            sizes, steps = merge([view.shape[i] for i in rest], [view.strides[i] for i in rest])
            payload = [DTYPES.index(view.dtype), DTYPES.index(indices.dtype), int(p["largest"]), node.shape[-1],
                       len(sizes), *padded(sizes), *padded(steps), view.shape[axis], view.strides[axis]]  # fmt: skip
            return [("top_k", [*operands, self.buffer[indices], 0], payload)]
        copies = []
        for view, (offset, strides) in zip(views, p["steps"], strict=True):
            if view.size == 0:
                continue
            width = item_size(node.dtype)
            source, target = self.buffer[view.node], self.buffer[node]
            for first, second, rows in _parts(*merge_jointly(view.shape, view.strides, strides)):
                operands = [source, (view.offset + first) * width, target, (offset + second) * width]
                payload = [width, len(rows[0]), *(w for row in rows for w in padded(row))]
                copies.append(("copy", operands, payload))
        return copies

    def _encode_map(self, step: _Step, outside: set[Node]) -> list[tuple[str, list[int], list[int]]]:
        inside = {n: None for n in step.nodes}
        inputs: dict[View, int] = {}
        consts: dict[Node, None] = {}
        for node in step.nodes:
            for view in map(self.resolve, node.operands):
                if view.node in inside and view.is_whole and view.shape == step.shape:
                    continue
                if _is_const(view.node):
                    consts[view.node] = None
                else:
                    inputs.setdefault(replace(view, dtype=view.node.dtype), len(inputs))
        value: dict[Node, int] = {}
        instructions: list[int] = []
        for node in [*(c for c in consts if c not in inside), *step.nodes]:
            numbers = []
            for view in map(self.resolve, node.operands):
                local = view.node in value and (_is_const(view.node) or view.node in inside)
                numbers.append(value[view.node] if local else inputs[replace(view, dtype=view.node.dtype)])
            numbers += [-1] * (3 - len(numbers))
            value[node] = len(inputs) + len(instructions) // 6
            p = node.params
            instructions += [p["code"], DTYPES.index(p["dtype"]), *numbers, p["imm"]]
        payload = [len(step.shape), *step.shape, len(inputs)]
        for view in inputs:
            payload += [DTYPES.index(view.dtype), *view.strides]
        payload += [len(instructions) // 6, *instructions]
        written = [n for n in step.nodes if n in outside]
        payload.append(len(written))
        for node in written:
            payload += [value[node], *contiguous_strides(step.shape)]
        outputs = [w for n in written for w in (self.buffer[n], 0)]
        return [("map", [w for v in inputs for w in self._at(v)] + outputs, payload)] if written else []


def _grouped(node: Node, strides: list[int]) -> list[tuple[list[int], list[int]]]:
    """A product's sizes and strides by group: batch, m, n."""
    return [([node.shape[i] for i in g], [strides[i] for i in g]) for g in node.params["axes"]]


def _parts(sizes: list[int], strides: list[list[int]]) -> Iterator[tuple[int, int, list[list[int]]]]:
    """A copy as copies of at most MAX_RANK axes: (offset of the first, of the second, sizes and strides) of each."""
    if len(sizes) <= MAX_RANK:
        yield 0, 0, [sizes, *strides]
        return
    least = sizes.index(min(sizes))
    inner, a, b = ([*row[:least], *row[least + 1 :]] for row in (sizes, *strides))
    for i in range(sizes[least]):
        for first, second, rows in _parts(inner, [a, b]):
            yield first + i * strides[0][least], second + i * strides[1][least], rows
