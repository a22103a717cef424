"""Which axes of a program's inputs and outputs are batch axes: no equation looks across them.

A factor is a class of axes, over all values of a program, that walk together: an elementwise equation joins the axes of
its operands with those of its result, a product joins a free axis with the result's. An axis that an equation sums,
sorts, slices or indexes is *closed* (not one of a maximum, which is exact: each device may begin with its own part). A
factor without a closed axis may be split over devices: each device runs the program on its part, and by NUM-8 the bits
are the same. What is not known here closes all axes, so that an omission costs speed only.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from numbers import Integral
from typing import TYPE_CHECKING, Any

from samebits.jax import _compat
from samebits.jax._flatten import Equation, Value
from samebits.jax.rules._batch import LINALG
from samebits.jax.rules._collective import TYPING
from samebits.jax.rules._elementwise import EXACT, FLOAT, INTEGER
from samebits.jax.rules._scatter import SCATTER

if TYPE_CHECKING:
    from samebits.jax._plan import Plan

_ELEMENTWISE = frozenset([*FLOAT, *EXACT, *INTEGER, *TYPING]) | frozenset(
    "select_n convert_element_type round reduce_precision integer_pow square clamp copy copy_p name stop_gradient "
    "optimization_barrier bitcast_convert_type real imag complex conj threefry2x32 random_fold_in".split()
)
_REDUCTIONS = frozenset("reduce_sum reduce_prod reduce_max reduce_min reduce_and reduce_or reduce_xor argmax argmin "
                        "psum pmax pmin".split())  # fmt: skip
ACCUMULATE = _compat.accumulate_p.name
# Reductions that are exact in any order, and what joins their results over devices.
EXACT_REDUCTIONS = {"reduce_max": "pmax", "reduce_min": "pmin", "reduce_or": "pmax", "reduce_and": "pmin"}
_ALONG = {"cumsum": "axis", "cumprod": "axis", "cummax": "axis", "cummin": "axis", "cumlogsumexp": "axis",
          "sort": "dimension", "concatenate": "dimension", "split": "axis"}  # fmt: skip


class Factors:
    """The factors of a plan, bodies of control flow included."""

    def __init__(self, plan: "Plan"):
        self._parent: dict[tuple[Value, int], tuple[Value, int]] = {}
        self._closed: set[tuple[Value, int]] = set()
        self._values: set[Value] = set()
        self.sums: list[tuple[Value, int]] = []
        self.is_apart = False
        self._visit(plan)
        for v in self._values:
            roots = [self._root((v, i)) for i in range(_rank(v))]
            for axis, root in enumerate(roots):  # a constant is not split, nor what pairs a factor with itself
                if v.const is not None or roots.count(root) > 1:
                    self.close(v, axis)

    def of(self, value: Value, axis: int) -> tuple[Value, int] | None:
        """The name of the factor of an axis; None where it is closed."""
        root = self._root((value, axis))
        return None if root in self._closed else root

    def is_summed(self, factor: tuple[Value, int]) -> bool:
        """Whether the program accumulates over a factor."""
        return any(self._root(axis) == factor for axis in self.sums)

    @contextmanager
    def apart(self) -> Iterator[None]:
        """In the body of a loop that devices leave at different times, they must not wait for each other."""
        before, self.is_apart = self.is_apart, True
        yield
        self.is_apart = before

    # ---- union-find ----

    def _root(self, axis: tuple[Value, int]) -> tuple[Value, int]:
        while (above := self._parent.get(axis, axis)) != axis:
            self._parent[axis] = self._parent.get(above, above)
            axis = above
        return axis

    def join(self, a: Value, i: int, b: Value, j: int) -> None:
        x, y = self._root((a, i)), self._root((b, j))
        if x != y:
            self._parent[y] = x
            if y in self._closed:
                self._closed.add(x)

    def close(self, value: Value, *axes: int) -> None:
        for axis in axes:
            self._closed.add(self._root((value, axis)))

    def close_all(self, *values: Value) -> None:
        for v in values:
            self.close(v, *range(_rank(v)))

    def join_all(self, a: Value, b: Value, drop_a: int = 0, drop_b: int = 0) -> None:
        """Axes of a from drop_a on with those of b from drop_b on."""
        for i in range(_rank(a) - drop_a):
            self.join(a, i + drop_a, b, i + drop_b)

    # ---- equations ----

    def _visit(self, plan: "Plan") -> None:
        self._values.update(plan.inputs, plan.outputs, *([*e.inputs, *e.outputs] for e in plan.equations))
        for e in plan.equations:
            visit = _VISITS.get(e.name)
            if e.name in _CONTROL:
                _CONTROL[e.name](self, plan, e)
            elif visit is not None and all(hasattr(v.aval, "shape") for v in [*e.inputs, *e.outputs]):
                visit(self, e)
            else:
                self.close_all(*e.inputs, *e.outputs)

    def body(self, plan: "Plan", e: Equation, jaxpr: Any) -> "Plan":
        inner = plan.inner(e, jaxpr)
        self._visit(inner)
        return inner


def _rank(v: Value) -> int:
    return len(getattr(v.aval, "shape", ()))


def _elementwise(f: Factors, e: Equation) -> None:
    """Operands are scalars, or of the result's shape but for axes of size one."""
    for v in e.inputs:
        for out in e.outputs:
            if _rank(v) not in (0, _rank(out)):
                f.close_all(v, out)
            for i in range(_rank(v)):
                if v.aval.shape[i] == out.aval.shape[i]:
                    f.join(v, i, out, i)


def _reduction(f: Factors, e: Equation) -> None:
    axes = e.eqn.params["axes"]
    if any(not isinstance(a, Integral) for a in axes):
        return f.close_all(*e.inputs, *e.outputs)
    for v, out in zip(e.inputs, e.outputs, strict=True):
        if f.is_apart or e.name not in EXACT_REDUCTIONS:
            f.close(v, *axes)
        for j, i in enumerate(i for i in range(_rank(v)) if i not in axes):
            f.join(v, i, out, j)
    return None


def _accumulate(f: Factors, e: Equation) -> None:
    """A sum over rows: devices may sum their own, if these are an aligned subtree (clause ACC-5)."""
    axes, (v,), (out,) = e.eqn.params["axes"], e.inputs, e.outputs
    if f.is_apart or len(axes) != 1 or not isinstance(axes[0], Integral):
        return f.close_all(v, out)
    f.sums.append((v, axes[0]))
    for j, i in enumerate(i for i in range(_rank(v)) if i != axes[0]):
        f.join(v, i, out, j)
    return None


def _along(f: Factors, e: Equation) -> None:
    axis = e.eqn.params[_ALONG[e.name]]
    for out in e.outputs:
        f.close(out, axis)
        for v in e.inputs:
            f.close(v, axis)
            for i in range(_rank(v)):
                if i != axis:
                    f.join(v, i, out, i)


def _broadcast(f: Factors, e: Equation) -> None:
    (v, *_), (out,) = e.inputs, e.outputs
    for i, j in enumerate(e.eqn.params["broadcast_dimensions"]):
        if v.aval.shape[i] == out.aval.shape[j]:
            f.join(v, i, out, j)


def _reshape(f: Factors, e: Equation) -> None:
    """An axis stays one where as much lies before it as before, and it has the same size."""
    (v, *_), (out,) = e.inputs, e.outputs
    if e.eqn.params.get("dimensions") is not None:
        return f.close_all(v, out)
    before = [{math.prod(s[:i]): i for i in range(len(s)) if s[i] != 1} for s in (v.aval.shape, out.aval.shape)]
    joined = []
    for size, i in before[0].items():
        j = before[1].get(size)
        if j is not None and v.aval.shape[i] == out.aval.shape[j]:
            f.join(v, i, out, j)
            joined.append((i, j))
    for side, value in enumerate((v, out)):
        f.close(value, *(i for i in range(_rank(value)) if i not in [pair[side] for pair in joined]))
    return None


def _transpose(f: Factors, e: Equation) -> None:
    for j, i in enumerate(e.eqn.params["permutation"]):
        f.join(e.inputs[0], i, e.outputs[0], j)


def _squeeze(f: Factors, e: Equation) -> None:
    (v,), (out,) = e.inputs, e.outputs
    gone = e.eqn.params["dimensions"]
    f.close(v, *gone)
    for j, i in enumerate(i for i in range(_rank(v)) if i not in gone):
        f.join(v, i, out, j)


def _expand(f: Factors, e: Equation) -> None:
    (v,), (out,) = e.inputs, e.outputs
    new = e.eqn.params["dimensions"]
    f.close(out, *new)
    for i, j in enumerate(j for j in range(_rank(out)) if j not in new):
        f.join(v, i, out, j)


def _same_size(f: Factors, e: Equation) -> None:
    """Slices, padding, reversal, updates: an axis that is taken whole and not turned walks along."""
    v, out = e.inputs[0], e.outputs[0]
    turned = e.eqn.params["dimensions"] if e.name == "rev" else ()
    others = [u for u in e.inputs[1:2] if e.name == "dynamic_update_slice"]
    config = e.eqn.params.get("padding_config") or [(0, 0, 0)] * _rank(v)
    for i in range(_rank(v)):
        sizes = {x.aval.shape[i] for x in (v, out, *others)}
        for x in (out, *others):
            f.join(v, i, x, i)
        if len(sizes) > 1 or i in turned or tuple(config[i]) != (0, 0, 0):
            f.close(v, i)


def _dot(f: Factors, e: Equation) -> None:
    (a, b), (out,) = e.inputs, e.outputs
    (contract_a, contract_b), (batch_a, batch_b) = e.eqn.params["dimension_numbers"]
    f.close(a, *contract_a)
    f.close(b, *contract_b)
    for j, (i, k) in enumerate(zip(batch_a, batch_b, strict=True)):
        f.join(a, i, out, j)
        f.join(b, k, out, j)
    at = len(batch_a)
    for v, used in ((a, (*contract_a, *batch_a)), (b, (*contract_b, *batch_b))):
        for i in range(_rank(v)):
            if i not in used:
                f.join(v, i, out, at)
                at += 1


def _iota(f: Factors, e: Equation) -> None:
    f.close(e.outputs[0], e.eqn.params["dimension"])


def _gather(f: Factors, e: Equation) -> None:
    (v, indices), (out,) = e.inputs, e.outputs
    numbers = e.eqn.params["dimension_numbers"]
    batch = [j for j in range(_rank(out)) if j not in numbers.offset_dims]
    for i, j in enumerate(batch):  # the index vector is the last axis of the indices
        f.join(indices, i, out, j)
    f.close(indices, _rank(indices) - 1)
    for i, k in zip(numbers.operand_batching_dims, numbers.start_indices_batching_dims, strict=True):
        f.join(v, i, out, batch[k])
    offsets = iter(numbers.offset_dims)
    for i in range(_rank(v)):
        if i in numbers.operand_batching_dims:
            continue
        if i in numbers.collapsed_slice_dims:
            f.close(v, i)
            continue
        f.join(v, i, out, next(offsets))
        if e.eqn.params["slice_sizes"][i] != v.aval.shape[i] or i in numbers.start_index_map:
            f.close(v, i)


def _scatter(f: Factors, e: Equation) -> None:
    (v, indices, updates), (out,) = e.inputs, e.outputs
    numbers = e.eqn.params["dimension_numbers"]
    f.join_all(v, out)
    where = [j for j in range(_rank(updates)) if j not in numbers.update_window_dims]  # as the axes of the indices
    batched = dict(zip(numbers.scatter_indices_batching_dims, numbers.operand_batching_dims, strict=True))
    f.close(indices, _rank(indices) - 1)
    for k, j in enumerate(where):
        f.join(indices, k, updates, j)
        if k in batched:
            f.join(updates, j, v, batched[k])
        else:  # many updates may meet in one element
            f.close(updates, j)
    windows = iter(numbers.update_window_dims)
    for i in range(_rank(v)):
        if i in numbers.operand_batching_dims:
            continue
        if i in numbers.inserted_window_dims:
            f.close(v, i)
            continue
        j = next(windows)
        f.join(updates, j, v, i)
        if updates.aval.shape[j] != v.aval.shape[i] or i in numbers.scatter_dims_to_operand_dims:
            f.close(v, i)


def _leading(f: Factors, e: Equation) -> None:
    """Linear algebra: one problem at the end of each operand's shape."""
    core = LINALG[e.name] or len(e.eqn.params["fft_lengths"])
    lead = _rank(e.inputs[0]) - core
    for v in [*e.inputs, *e.outputs]:
        for i in range(lead):
            f.join(e.inputs[0], i, v, i)
        f.close(v, *range(lead, _rank(v)))


def _random(f: Factors, e: Equation) -> None:
    """Keys [...] and what belongs to each, [..., shape]."""
    short, long = sorted((e.inputs[0], e.outputs[0]), key=_rank)
    f.join_all(short, long)
    f.close(long, *range(_rank(short), _rank(long)))


_VISITS: dict[str, Callable[[Factors, Equation], None]] = {
    **dict.fromkeys(_ELEMENTWISE, _elementwise),
    **dict.fromkeys(_REDUCTIONS, _reduction),
    **dict.fromkeys(_ALONG, _along),
    **dict.fromkeys(["slice", "pad", "rev", "dynamic_slice", "dynamic_update_slice"], _same_size),
    **dict.fromkeys([name for name in LINALG if name not in ("triangular_solve", "householder_product")], _leading),
    **dict.fromkeys(["random_bits", "random_split", "random_wrap", "random_unwrap"], _random),
    ACCUMULATE: _accumulate,
    **dict.fromkeys(["scatter", *SCATTER], _scatter),
    "broadcast_in_dim": _broadcast,
    "reshape": _reshape,
    "transpose": _transpose,
    "squeeze": _squeeze,
    "expand_dims": _expand,
    "dot_general": _dot,
    "iota": _iota,
    "gather": _gather,
}


# ---- control flow ----


def _pairs(f: Factors, left: Sequence[Value], right: Sequence[Value]) -> None:
    for a, b in zip(left, right, strict=True):
        f.join_all(a, b)


def _scan(f: Factors, plan: "Plan", e: Equation) -> None:
    body = f.body(plan, e, e.eqn.params["jaxpr"])
    consts, carry = _compat.scan_counts(e.eqn.params)
    end = consts + carry
    _pairs(f, e.inputs[:end], body.inputs[:end])
    _pairs(f, body.outputs[:carry], body.inputs[consts:end])
    _pairs(f, body.outputs[:carry], e.outputs[:carry])
    for whole, one in [*zip(e.inputs[end:], body.inputs[end:], strict=True),
                       *zip(e.outputs[carry:], body.outputs[carry:], strict=True)]:  # fmt: skip
        f.close(whole, 0)
        f.join_all(whole, one, 1, 0)


def _while(f: Factors, plan: "Plan", e: Equation) -> None:
    """A loop goes on by one condition for all or, vmapped, by one for each row: then devices go round on their own."""
    p = e.eqn.params
    mapped = bool(p["cond_jaxpr"].out_avals[0].shape)
    with f.apart() if mapped else nullcontext():
        test, body = f.body(plan, e, p["cond_jaxpr"]), f.body(plan, e, p["body_jaxpr"])
    split, start = p["cond_nconsts"], p["cond_nconsts"] + p["body_nconsts"]
    _pairs(f, e.inputs[:split], test.inputs[:split])
    _pairs(f, e.inputs[split:start], body.inputs[: p["body_nconsts"]])
    for inner in (test.inputs[split:], body.inputs[p["body_nconsts"] :], body.outputs, e.outputs):
        _pairs(f, e.inputs[start:], inner)
    (go_on,) = test.outputs
    for i in range(_rank(go_on)):  # vmapped: a row that is done keeps its state while others go on
        for v in body.outputs:
            f.join(go_on, i, v, i)


def _cond(f: Factors, plan: "Plan", e: Equation) -> None:
    for branch in e.eqn.params["branches"]:
        inner = f.body(plan, e, branch)
        _pairs(f, e.inputs[1:], inner.inputs)
        _pairs(f, e.outputs, inner.outputs)


def _remat(f: Factors, plan: "Plan", e: Equation) -> None:
    inner = f.body(plan, e, e.eqn.params["jaxpr"])
    _pairs(f, e.inputs, inner.inputs)
    _pairs(f, e.outputs, inner.outputs)


_CONTROL: dict[str, Callable[[Factors, "Plan", Equation], None]] = {
    "scan": _scan, "while": _while, "cond": _cond, "remat2": _remat, "checkpoint": _remat,
}  # fmt: skip
