"""Complex values in a native program: a pair of real ones (clauses CPX-*, CVT-8).

A complex argument or result is a dense array [..., 2] of its parts, as memory has it; in between a value is two views,
so that moving it moves both, ``real`` and ``imag`` cost nothing, and each operation is the real ones of its clause.
Nothing below this file knows complex numbers.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from samebits.native._program import Arithmetic, Program
from samebits.native._views import Shape, View, contiguous_strides
from samebits.order._complex import Real, compose
from samebits.order._complex_folds import NEUTRAL

PARTS = {"complex64": "float32", "complex128": "float64"}
"""A complex dtype's name -> that of its parts."""
WHOLE = {part: whole for whole, part in PARTS.items()}


@dataclass(frozen=True, init=False)
class Pair(View):
    """A complex value: the views of its real and of its imaginary part. It is no view of one node."""

    re: View
    im: View

    def __init__(self, re: View, im: View):
        super().__init__(None, WHOLE[re.dtype], re.shape, re.strides)
        object.__setattr__(self, "re", re)
        object.__setattr__(self, "im", im)

    @property
    def is_whole(self) -> bool:
        return False

    def only(self, axes: Sequence[int]) -> "Pair":
        return Pair(self.re.only(axes), self.im.only(axes))

    def transpose(self, permutation: Iterable[int]) -> "Pair":
        order = tuple(permutation)
        return Pair(self.re.transpose(order), self.im.transpose(order))

    def broadcast(self, shape: Sequence[int], dimensions: Sequence[int]) -> "Pair":
        return Pair(self.re.broadcast(shape, dimensions), self.im.broadcast(shape, dimensions))

    def slice(self, start: Sequence[int], limit: Sequence[int], step: Sequence[int] | None = None) -> "Pair":
        return Pair(self.re.slice(start, limit, step), self.im.slice(start, limit, step))

    def reshape(self, shape: Sequence[int]) -> "Pair | None":
        re, im = self.re.reshape(shape), self.im.reshape(shape)
        return None if re is None or im is None else Pair(re, im)

    def reverse(self, axes: Sequence[int]) -> "Pair":
        return Pair(self.re.reverse(axes), self.im.reverse(axes))


FOLDS = {"prod": "mul", "max": "max", "min": "min"}
"""Reductions that are not those of the parts, and what joins two elements."""


def _last(view: View, start: int, stop: int, step: int = 1) -> View:
    """view[..., start:stop:step]."""
    lead = view.shape[:-1]
    return view.slice([0] * len(lead) + [start], [*lead, stop], [1] * len(lead) + [step])


class ComplexProgram(Program):
    """A program whose values may be complex: each method takes pairs where its clause has complex numbers."""

    def argument(self, dtype: str, shape: Sequence[int]) -> View:
        if dtype not in PARTS:
            return super().argument(dtype, shape)
        both = super().argument(PARTS[dtype], (*shape, 2))
        re, im = (both.slice([0] * len(shape) + [i], [*shape, i + 1]).only(range(len(shape))) for i in (0, 1))
        return Pair(re, im)

    def constant(self, value: Any, dtype: str) -> View:
        if dtype not in PARTS:
            return super().constant(value, dtype)
        z = np.asarray(value, dtype)
        return Pair(super().constant(np.real(z)[()], PARTS[dtype]), super().constant(np.imag(z)[()], PARTS[dtype]))

    def map(self, op: str, *views: View, imm: int = 0) -> View:
        """As `Program.map`; complex operands, and the operations between them and their parts, by CPX-1 to CPX-10."""
        if op != "complex" and not any(isinstance(v, Pair) for v in views):
            return super().map(op, *views, imm=imm)
        arithmetic = Arithmetic(self, views[-1].re.dtype if isinstance(views[-1], Pair) else views[-1].dtype)
        operands = [tuple(Real(x, arithmetic) for x in ((v.re, v.im) if isinstance(v, Pair) else (v,))) for v in views]
        shape = np.broadcast_shapes(*(v.shape for v in views))
        parts = [
            p.value.broadcast(shape, range(len(shape) - len(p.value.shape), len(shape)))
            for p in compose(op, operands, imm if op == "integer_pow" else None)
        ]
        return Pair(*parts) if len(parts) == 2 else parts[0]

    def convert(self, view: View, dtype: str) -> View:
        if dtype not in PARTS:
            return super().convert(view.re if isinstance(view, Pair) else view, dtype)
        part = PARTS[dtype]
        if isinstance(view, Pair):
            return Pair(super().convert(view.re, part), super().convert(view.im, part))
        return Pair(super().convert(view, part), super().constant(0, part).broadcast(view.shape, ()))

    def copy(self, view: View) -> View:
        return Pair(super().copy(view.re), super().copy(view.im)) if isinstance(view, Pair) else super().copy(view)

    def reshape(self, view: View, shape: Sequence[int]) -> View:
        if not isinstance(view, Pair):
            return super().reshape(view, shape)
        return Pair(super().reshape(view.re, shape), super().reshape(view.im, shape))

    def join(self, dtype: str, shape: Sequence[int], pieces: list[tuple[View, int, Shape]]) -> View:
        if dtype not in PARTS:
            return super().join(dtype, shape, pieces)
        apart = [((v.re, v.im), offset, strides) for v, offset, strides in pieces if isinstance(v, Pair)]
        re, im = (
            super(ComplexProgram, self).join(PARTS[dtype], shape, [(both[i], o, s) for both, o, s in apart])
            for i in (0, 1)
        )
        return Pair(re, im)

    def dot(self, a: View, b: View, contract: tuple[Sequence[int], Sequence[int]],
            batch: tuple[Sequence[int], Sequence[int]], out_dtype: str) -> View:  # fmt: skip
        """As `Program.dot`; of complex operands four real ones (CPX-12)."""
        if not (isinstance(a, Pair) and isinstance(b, Pair)):
            return super().dot(a, b, contract, batch, out_dtype)
        pairs = (a.re, b.re), (a.im, b.im), (a.re, b.im), (a.im, b.re)
        rr, ii, ri, ir = (super(ComplexProgram, self).dot(*p, contract, batch, PARTS[out_dtype]) for p in pairs)
        return Pair(self.map("sub", rr, ii), self.map("add", ri, ir))

    def reduce(self, op: str, view: View, axes: Sequence[int], out_dtype: str | None = None) -> View:
        """As `Program.reduce`; of complex numbers sums by parts (CPX-11), prod, max and min by `_fold`."""
        if not isinstance(view, Pair):
            return super().reduce(op, view, axes, out_dtype)
        if op in FOLDS:
            kept = [i for i in range(len(view.shape)) if i not in axes]
            shape = tuple(view.shape[i] for i in kept)
            count = math.prod(view.shape[i] for i in axes)
            return self._fold(op, self.reshape(view.transpose([*kept, *sorted(axes)]), (*shape, count)))
        return Pair(super().reduce(op, view.re, axes), super().reduce(op, view.im, axes))

    def cumulative(self, op: str, view: View, axis: int, reverse: bool = False) -> View:
        """As `Program.cumulative`; of complex numbers sums by parts (CPX-11), prod, max and min by `_scan`."""
        if not isinstance(view, Pair):
            return super().cumulative(op, view, axis, reverse)
        if op in FOLDS:
            there = [*(i for i in range(len(view.shape)) if i != axis), axis]
            back = [there.index(i) for i in range(len(there))]
            flip = [axis] if reverse else []
            return self._scan(op, view.reverse(flip).transpose(there)).transpose(back).reverse(flip)
        return Pair(super().cumulative(op, view.re, axis, reverse), super().cumulative(op, view.im, axis, reverse))

    # ---- CPX-13, CPX-14: along the tree of JOIN-1, a level at a time ----

    def _fold(self, op: str, view: View) -> View:
        """[..., n] to [...]: neighbours are joined, the last of an odd number waits for the next level."""
        n = view.shape[-1]
        if n == 0:
            return self.constant(NEUTRAL[FOLDS[op]], view.dtype).broadcast(view.shape[:-1], ())
        while n > 1:
            joined = self.map(FOLDS[op], _last(view, 0, n - n % 2, 2), _last(view, 1, n, 2))
            if n % 2:
                shape = (*view.shape[:-1], n // 2 + 1)
                strides = contiguous_strides(shape)
                joined = self.join(view.dtype, shape, [(joined, 0, strides), (_last(view, n - 1, n), n // 2, strides)])
            view, n = joined, joined.shape[-1]
        return self._finished(op, self.reshape(view, view.shape[:-1]))

    def _scan(self, op: str, view: View) -> View:
        """[..., n]: each element joined with those before it (Sklansky's network).

        Before level b an element is the join of its block of b up to itself, so it wants that of the whole block to its
        left where this is its sibling in the tree.
        """
        *lead, n = view.shape
        view, b = self._finished(op, view), 1
        while b < n:
            pieces = []
            whole = n - n % (2 * b)
            for start, stop, size in ((0, whole, 2 * b), (whole, n, n - whole)):  # what is left is a shorter block
                if start == stop:
                    continue
                blocks = self.reshape(_last(view, start, stop), (*lead, (stop - start) // size, size))
                walk = (*contiguous_strides(view.shape)[:-1], size, 1)
                pieces.append((_last(blocks, 0, min(b, size)), start, walk))
                if size > b:
                    joined = self.map(FOLDS[op], _last(blocks, b - 1, b), _last(blocks, b, size))
                    pieces.append((joined, start + b, walk))
            view = self.join(view.dtype, view.shape, pieces)
            b *= 2
        return view

    def _finished(self, op: str, view: View) -> View:
        """What one element is: as it is, but for a NaN factor, which x - 0 makes canonical (NUM-4)."""
        return self.map("sub", view, self.constant(0, view.dtype)) if op == "prod" else view

    def scatter(self, op: str, operand: View, index: View, updates: View) -> View:
        """As `Program.scatter`; sums of complex numbers by parts (CPX-11)."""
        if not (isinstance(operand, Pair) and isinstance(updates, Pair)):
            return super().scatter(op, operand, index, updates)
        halves = (operand.re, updates.re), (operand.im, updates.im)
        return Pair(*(super(ComplexProgram, self).scatter(op, o, index, u) for o, u in halves))

    def words(self, outputs: Sequence[View]) -> np.ndarray:
        return super().words([self._dense(v) if isinstance(v, Pair) else v for v in outputs])

    def _dense(self, pair: Pair) -> View:
        """[..., 2]: the parts side by side, as a complex array has them."""
        steps = tuple(2 * s for s in contiguous_strides(pair.shape))
        return super().join(pair.re.dtype, (*pair.shape, 2), [(pair.re, 0, steps), (pair.im, 1, steps)])
