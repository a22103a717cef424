"""How each equation joins and closes the axes of its operands and results."""

import math
from collections.abc import Callable
from numbers import Integral

from samebits.jax import _compat
from samebits.jax._factors._axes import Axes, rank
from samebits.jax._flatten import Equation
from samebits.jax.rules._batch import LINALG
from samebits.jax.rules._collective import TYPING
from samebits.jax.rules._elementwise import EXACT, FLOAT, INTEGER
from samebits.jax.rules._scatter import SCATTER

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


def _elementwise(f: Axes, e: Equation) -> None:
    """Operands are scalars, or of the result's shape but for axes of size one."""
    for v in e.inputs:
        for out in e.outputs:
            if rank(v) not in (0, rank(out)):
                f.close_all(v, out)
            for i in range(rank(v)):
                if v.aval.shape[i] == out.aval.shape[i]:
                    f.join(v, i, out, i)


def _reduction(f: Axes, e: Equation) -> None:
    axes = e.eqn.params["axes"]
    if any(not isinstance(a, Integral) for a in axes):
        return f.close_all(*e.inputs, *e.outputs)
    for v, out in zip(e.inputs, e.outputs, strict=True):
        if f.is_apart or e.name not in EXACT_REDUCTIONS:
            f.close(v, *axes)
        for j, i in enumerate(i for i in range(rank(v)) if i not in axes):
            f.join(v, i, out, j)
    return None


def _accumulate(f: Axes, e: Equation) -> None:
    """A sum over rows: devices may sum their own, if these are an aligned subtree (clause ACC-5)."""
    axes, (v,), (out,) = e.eqn.params["axes"], e.inputs, e.outputs
    if f.is_apart or len(axes) != 1 or not isinstance(axes[0], Integral):
        return f.close_all(v, out)
    f.sums.append((v, axes[0]))
    for j, i in enumerate(i for i in range(rank(v)) if i != axes[0]):
        f.join(v, i, out, j)
    return None


def _along(f: Axes, e: Equation) -> None:
    axis = e.eqn.params[_ALONG[e.name]]
    for out in e.outputs:
        f.close(out, axis)
        for v in e.inputs:
            f.close(v, axis)
            for i in range(rank(v)):
                if i != axis:
                    f.join(v, i, out, i)


def _broadcast(f: Axes, e: Equation) -> None:
    (v, *_), (out,) = e.inputs, e.outputs
    for i, j in enumerate(e.eqn.params["broadcast_dimensions"]):
        if v.aval.shape[i] == out.aval.shape[j]:
            f.join(v, i, out, j)


def _reshape(f: Axes, e: Equation) -> None:
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
        f.close(value, *(i for i in range(rank(value)) if i not in [pair[side] for pair in joined]))
    return None


def _transpose(f: Axes, e: Equation) -> None:
    for j, i in enumerate(e.eqn.params["permutation"]):
        f.join(e.inputs[0], i, e.outputs[0], j)


def _squeeze(f: Axes, e: Equation) -> None:
    (v,), (out,) = e.inputs, e.outputs
    gone = e.eqn.params["dimensions"]
    f.close(v, *gone)
    for j, i in enumerate(i for i in range(rank(v)) if i not in gone):
        f.join(v, i, out, j)


def _expand(f: Axes, e: Equation) -> None:
    (v,), (out,) = e.inputs, e.outputs
    new = e.eqn.params["dimensions"]
    f.close(out, *new)
    for i, j in enumerate(j for j in range(rank(out)) if j not in new):
        f.join(v, i, out, j)


def _same_size(f: Axes, e: Equation) -> None:
    """Slices, padding, reversal, updates: an axis that is taken whole and not turned walks along."""
    v, out = e.inputs[0], e.outputs[0]
    turned = e.eqn.params["dimensions"] if e.name == "rev" else ()
    others = [u for u in e.inputs[1:2] if e.name == "dynamic_update_slice"]
    config = e.eqn.params.get("padding_config") or [(0, 0, 0)] * rank(v)
    for i in range(rank(v)):
        sizes = {x.aval.shape[i] for x in (v, out, *others)}
        for x in (out, *others):
            f.join(v, i, x, i)
        if len(sizes) > 1 or i in turned or tuple(config[i]) != (0, 0, 0):
            f.close(v, i)


def _dot(f: Axes, e: Equation) -> None:
    (a, b), (out,) = e.inputs, e.outputs
    (contract_a, contract_b), (batch_a, batch_b) = e.eqn.params["dimension_numbers"]
    f.close(a, *contract_a)
    f.close(b, *contract_b)
    for j, (i, k) in enumerate(zip(batch_a, batch_b, strict=True)):
        f.join(a, i, out, j)
        f.join(b, k, out, j)
    at = len(batch_a)
    for v, used in ((a, (*contract_a, *batch_a)), (b, (*contract_b, *batch_b))):
        for i in range(rank(v)):
            if i not in used:
                f.join(v, i, out, at)
                at += 1


def _iota(f: Axes, e: Equation) -> None:
    f.close(e.outputs[0], e.eqn.params["dimension"])


def _gather(f: Axes, e: Equation) -> None:
    (v, indices), (out,) = e.inputs, e.outputs
    numbers = e.eqn.params["dimension_numbers"]
    batch = [j for j in range(rank(out)) if j not in numbers.offset_dims]
    for i, j in enumerate(batch):  # the index vector is the last axis of the indices
        f.join(indices, i, out, j)
    f.close(indices, rank(indices) - 1)
    for i, k in zip(numbers.operand_batching_dims, numbers.start_indices_batching_dims, strict=True):
        f.join(v, i, out, batch[k])
    offsets = iter(numbers.offset_dims)
    for i in range(rank(v)):
        if i in numbers.operand_batching_dims:
            continue
        if i in numbers.collapsed_slice_dims:
            f.close(v, i)
            continue
        f.join(v, i, out, next(offsets))
        if e.eqn.params["slice_sizes"][i] != v.aval.shape[i] or i in numbers.start_index_map:
            f.close(v, i)


def _scatter(f: Axes, e: Equation) -> None:
    (v, indices, updates), (out,) = e.inputs, e.outputs
    numbers = e.eqn.params["dimension_numbers"]
    f.join_all(v, out)
    where = [j for j in range(rank(updates)) if j not in numbers.update_window_dims]  # as the axes of the indices
    batched = dict(zip(numbers.scatter_indices_batching_dims, numbers.operand_batching_dims, strict=True))
    f.close(indices, rank(indices) - 1)
    for k, j in enumerate(where):
        f.join(indices, k, updates, j)
        if k in batched:
            f.join(updates, j, v, batched[k])
        else:  # many updates may meet in one element
            f.close(updates, j)
    windows = iter(numbers.update_window_dims)
    for i in range(rank(v)):
        if i in numbers.operand_batching_dims:
            continue
        if i in numbers.inserted_window_dims:
            f.close(v, i)
            continue
        j = next(windows)
        f.join(updates, j, v, i)
        if updates.aval.shape[j] != v.aval.shape[i] or i in numbers.scatter_dims_to_operand_dims:
            f.close(v, i)


def _leading(f: Axes, e: Equation) -> None:
    """Linear algebra: one problem at the end of each operand's shape."""
    core = LINALG[e.name] or len(e.eqn.params["fft_lengths"])
    lead = rank(e.inputs[0]) - core
    for v in [*e.inputs, *e.outputs]:
        for i in range(lead):
            f.join(e.inputs[0], i, v, i)
        f.close(v, *range(lead, rank(v)))


def _random(f: Axes, e: Equation) -> None:
    """Keys [...] and what belongs to each, [..., shape]."""
    short, long = sorted((e.inputs[0], e.outputs[0]), key=rank)
    f.join_all(short, long)
    f.close(long, *range(rank(short), rank(long)))


EQUATIONS: dict[str, Callable[[Axes, Equation], None]] = {
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
