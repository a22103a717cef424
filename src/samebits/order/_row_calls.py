"""The functions of ``_rows`` on arrays: dtypes and shapes checked, axes arranged as rows (clause ROW-1).

Each returns a `RowCall`, which ``samebits.order`` evaluates with NumPy and ``samebits.native`` as one program.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from samebits.order import _rows, _rows_backward
from samebits.order._arguments import integer, real
from samebits.order._axes import one_axis
from samebits.order._dtypes import NARROW, as_array, floats


@dataclass(frozen=True)
class RowCall:
    """A composition and its operands, arranged as [leading axes, inner axes] and broadcasting.

    The last `row` inner axes are the row. A parameter's gradient sums over the leading axes and the inner axes
    `summed` (negative numbers). finish: what makes each result of the arranged one.
    """

    rule: Callable[..., Any]
    arrays: tuple[NDArray | None, ...]
    parameters: tuple[Any, ...]
    dtypes: tuple[np.dtype, ...]
    finish: tuple[Callable[[NDArray], NDArray], ...]
    inner: int = 1
    row: int = 1
    summed: tuple[int, ...] = ()


def _rows_of(x: NDArray, axis: int, name: str) -> NDArray:
    """The axis moved to the end."""
    if x.ndim == 0:
        raise ValueError(f"{name} takes an array with at least one axis, got a single number; give x[None]")
    return np.moveaxis(x, one_axis(axis, x.ndim), -1)


def _back(axis: int) -> Callable[[NDArray], NDArray]:
    return lambda y: np.moveaxis(y, -1, axis)


def _one(keepdims: bool, axis: int) -> Callable[[NDArray], NDArray]:
    """Of a result with one value for a row."""
    return _back(axis) if keepdims else lambda y: y[..., 0]


def _like(name: str, what: str, given: ArrayLike, x: NDArray) -> NDArray:
    """An operand of x's shape and dtype."""
    a = as_array(given)
    if a.dtype != x.dtype or a.shape != x.shape:
        raise TypeError(f"{name}: {what} is {a.dtype}{list(a.shape)}, but x is {x.dtype}{list(x.shape)}; both must "
                        "agree (samebits.order.convert, numpy.broadcast_to)")  # fmt: skip
    return a


def _per_row(name: str, given: ArrayLike, x: NDArray, axis: int, keepdims: bool = False) -> NDArray:
    """The gradient of a result with one value for a row, as [leading axes, 1]; x is arranged."""
    u = as_array(given)
    wanted = x.shape[:-1]
    if keepdims and u.ndim == x.ndim:
        u = np.moveaxis(u, axis, -1)[..., 0]
    if u.dtype != x.dtype or u.shape != wanted:
        raise TypeError(f"{name}: the result's gradient is {u.dtype}{list(u.shape)}, but the result is "
                        f"{x.dtype}{list(wanted)}; both must agree")  # fmt: skip
    return u[..., None]


def _parameter(name: str, what: str, given: ArrayLike | None, x: NDArray, shape: Sequence[int]) -> NDArray | None:
    """A scale or bias, of x's dtype or float32 (where x is narrower)."""
    if given is None:
        return None
    a = as_array(given)
    allowed = (x.dtype, np.dtype(np.float32)) if x.dtype in NARROW else (x.dtype,)
    if a.dtype not in allowed:
        raise TypeError(f"{name}: {what} is {a.dtype}, but x is {x.dtype}; give "
                        f"{' or '.join(str(d) for d in allowed)} (samebits.order.convert)")  # fmt: skip
    if a.shape != tuple(shape):
        raise ValueError(f"{name}: {what} has shape {a.shape} where {tuple(shape)} is wanted: one number for each "
                         "element that is normalised (for each channel in group_norm)")  # fmt: skip
    return a


def _same(y: NDArray) -> NDArray:
    return y


# ---- softmax and its kin ----


def softmax(x: ArrayLike, axis: int = -1) -> RowCall:
    """exp(x - max) / sum(exp(x - max)) along an axis (clause ROW-2). A row of -inf, or with +inf or NaN, is NaN."""
    x = _rows_of(floats(x, "softmax"), axis, "softmax")
    return RowCall(_rows.softmax, (x,), (), (x.dtype,), (_back(axis),))


def softmax_vjp(x: ArrayLike, u: ArrayLike, axis: int = -1) -> RowCall:
    """The gradient in x of softmax(x, axis), from the gradient u of its result (clause ROW-2)."""
    x = floats(x, "softmax_vjp")
    u = _like("softmax_vjp", "the result's gradient", u, x)
    arrays = tuple(_rows_of(a, axis, "softmax_vjp") for a in (x, u))
    return RowCall(_rows_backward.softmax_vjp, arrays, (), (x.dtype,), (_back(axis),))


def log_softmax(x: ArrayLike, axis: int = -1) -> RowCall:
    """The logarithm of softmax (clause ROW-3)."""
    x = _rows_of(floats(x, "log_softmax"), axis, "log_softmax")
    return RowCall(_rows.log_softmax, (x,), (), (x.dtype,), (_back(axis),))


def log_softmax_vjp(x: ArrayLike, u: ArrayLike, axis: int = -1) -> RowCall:
    """The gradient in x of log_softmax(x, axis) (clause ROW-3)."""
    x = floats(x, "log_softmax_vjp")
    u = _like("log_softmax_vjp", "the result's gradient", u, x)
    arrays = tuple(_rows_of(a, axis, "log_softmax_vjp") for a in (x, u))
    return RowCall(_rows_backward.log_softmax_vjp, arrays, (), (x.dtype,), (_back(axis),))


def logsumexp(x: ArrayLike, axis: int = -1, keepdims: bool = False) -> RowCall:
    """log(sum(exp(x))) along an axis, without overflow (clause ROW-4). -inf of a row of -inf, or of no elements."""
    x = _rows_of(floats(x, "logsumexp"), axis, "logsumexp")
    return RowCall(_rows.logsumexp, (x,), (), (x.dtype,), (_one(keepdims, axis),))


def logsumexp_vjp(x: ArrayLike, u: ArrayLike, axis: int = -1, keepdims: bool = False) -> RowCall:
    """The gradient in x of logsumexp(x, axis, keepdims) (clause ROW-4)."""
    x = _rows_of(floats(x, "logsumexp_vjp"), axis, "logsumexp_vjp")
    u = _per_row("logsumexp_vjp", u, x, axis, keepdims)
    return RowCall(_rows_backward.logsumexp_vjp, (x, u), (), (x.dtype,), (_back(axis),))


# ---- cross entropy ----


def _labels(name: str, given: ArrayLike, x: NDArray, axis: int) -> NDArray | None:
    """Integer labels as [leading axes, 1]; None where probabilities are given; x is arranged."""
    labels = as_array(given)
    if labels.dtype.kind not in "iu":
        return None
    if labels.shape != x.shape[:-1]:
        raise ValueError(f"{name}: labels have shape {labels.shape}, but there are rows {x.shape[:-1]}: one label for "
                         "each row (or probabilities of x's dtype and shape)")  # fmt: skip
    if labels.size and not (labels.min() >= 0 and labels.max() < x.shape[-1]):
        raise ValueError(f"{name}: labels run from {labels.min()} to {labels.max()}; with rows of {x.shape[-1]} they "
                         f"are 0 to {x.shape[-1] - 1} (leave out the rows to be ignored)")  # fmt: skip
    return labels.astype(np.int32)[..., None]


def _probabilities(name: str, given: ArrayLike, x: NDArray, axis: int) -> NDArray:
    p = as_array(given)
    moved = np.moveaxis(p, axis, -1) if p.ndim == x.ndim else p
    if p.dtype != x.dtype or moved.shape != x.shape:
        raise TypeError(f"{name}: labels are {p.dtype}{list(p.shape)}; give integers, one for each row "
                        f"{list(x.shape[:-1])}, or probabilities of x's dtype and shape")  # fmt: skip
    return moved


def cross_entropy(x: ArrayLike, labels: ArrayLike, axis: int = -1) -> RowCall:
    """The loss of logits x, one for each row (clauses ROW-5, ROW-6).

    labels: integers, one for each row, or probabilities of x's dtype and shape.
    """
    name = "cross_entropy"
    x = _rows_of(floats(x, name), axis, name)
    label = _labels(name, labels, x, axis)
    if label is None:
        p = _probabilities(name, labels, x, axis)
        return RowCall(_rows.cross_entropy, (x, p), (), (x.dtype,), (_one(False, axis),))
    arrays = (x, np.take_along_axis(x, label, -1))
    return RowCall(_rows.cross_entropy_labels, arrays, (), (x.dtype,), (_one(False, axis),))


def cross_entropy_vjp(x: ArrayLike, labels: ArrayLike, u: ArrayLike, axis: int = -1) -> RowCall:
    """The gradient in x of cross_entropy(x, labels, axis); u has one number for each row (clauses ROW-5, ROW-6)."""
    name = "cross_entropy_vjp"
    x = _rows_of(floats(x, name), axis, name)
    label, u = _labels(name, labels, x, axis), _per_row(name, u, x, axis)
    if label is None:
        p = _probabilities(name, labels, x, axis)
        return RowCall(_rows_backward.cross_entropy_vjp, (x, u, p), (), (x.dtype,), (_back(axis),))
    arrays = (x, u, np.arange(x.shape[-1], dtype=np.int32), label)
    return RowCall(_rows_backward.cross_entropy_labels_vjp, arrays, (), (x.dtype,), (_back(axis),))


# ---- norms ----


def layer_norm(x: ArrayLike, g: ArrayLike | None = None, b: ArrayLike | None = None, eps: float = 1e-5) -> RowCall:
    """(x - mean) / sqrt(variance + eps) · g + b along the last axis (clause ROW-7). g, b: [n], or None."""
    x = _rows_of(floats(x, "layer_norm"), -1, "layer_norm")
    g, b = (_parameter("layer_norm", what, a, x, x.shape[-1:]) for what, a in (("g", g), ("b", b)))
    return RowCall(_rows.layer_norm, (x, g, b), (real("eps", eps),), (x.dtype,), (_same,))


def layer_norm_vjp(
    x: ArrayLike, u: ArrayLike, g: ArrayLike | None = None, bias: bool = True, eps: float = 1e-5
) -> RowCall:
    """The gradients in x, in g where it is given, and in b where bias (clause ROW-7).

    Those of g and b sum over all rows by the rule of sums, in which rows of different examples meet: where they shall
    not, keep a gradient for each row, and accumulate (clauses ACC-*).
    """
    x = _rows_of(floats(x, "layer_norm_vjp"), -1, "layer_norm_vjp")
    u = _like("layer_norm_vjp", "the result's gradient", u, x)
    g = _parameter("layer_norm_vjp", "g", g, x, x.shape[-1:])
    of = _gradients(x, g, bias)
    return RowCall(
        _rows_backward.layer_norm_vjp, (x, u, g), (bool(bias), real("eps", eps)), of, (_same, *[_flat] * (len(of) - 1))
    )


def _gradients(x: NDArray, g: NDArray | None, bias: bool) -> tuple[np.dtype, ...]:
    """The dtypes of the gradients in x, g and b; b's is g's."""
    scale = () if g is None else (g.dtype,)
    return (x.dtype, *scale, *[*scale, x.dtype][:1] * bias)


def _flat(y: NDArray) -> NDArray:
    return y.reshape(-1)


def rms_norm(x: ArrayLike, g: ArrayLike | None = None, eps: float = 1e-6) -> RowCall:
    """x / sqrt(mean(x²) + eps) · g along the last axis (clause ROW-8). g: [n], or None."""
    x = _rows_of(floats(x, "rms_norm"), -1, "rms_norm")
    return RowCall(_rows.rms_norm, (x, _parameter("rms_norm", "g", g, x, x.shape[-1:])), (real("eps", eps),),
                   (x.dtype,), (_same,))  # fmt: skip


def rms_norm_vjp(x: ArrayLike, u: ArrayLike, g: ArrayLike | None = None, eps: float = 1e-6) -> RowCall:
    """The gradients in x, and in g where it is given (clause ROW-8; sums over rows as in layer_norm_vjp)."""
    x = _rows_of(floats(x, "rms_norm_vjp"), -1, "rms_norm_vjp")
    u = _like("rms_norm_vjp", "the result's gradient", u, x)
    g = _parameter("rms_norm_vjp", "g", g, x, x.shape[-1:])
    of = (x.dtype,) if g is None else (x.dtype, g.dtype)
    return RowCall(_rows_backward.rms_norm_vjp, (x, u, g), (real("eps", eps),), of, (_same, _flat)[: len(of)])


def _grouped(name: str, x: ArrayLike, groups: int) -> tuple[NDArray, tuple[int, ...]]:
    """[B, C, ...] as [B, G, C / G, the rest], and the shape of x."""
    x = floats(x, name)
    if x.ndim < 2:
        raise ValueError(f"{name} takes [batch, channels, ...], got shape {x.shape}")
    groups = integer("groups", groups)
    if groups < 1 or x.shape[1] % groups:
        raise ValueError(f"{name}: {groups} groups of {x.shape[1]} channels (axis 1 of {x.shape}) are not equal; "
                         "the channels must divide by the groups")  # fmt: skip
    rest = int(np.prod(x.shape[2:], dtype=np.int64))
    return x.reshape(x.shape[0], groups, x.shape[1] // groups, rest), x.shape


def _channels(name: str, what: str, given: ArrayLike | None, x: NDArray) -> NDArray | None:
    a = _parameter(name, what, given, x, (x.shape[1] * x.shape[2],))
    return None if a is None else a.reshape(*x.shape[1:3], 1)


def group_norm(
    x: ArrayLike, groups: int, g: ArrayLike | None = None, b: ArrayLike | None = None, eps: float = 1e-5
) -> RowCall:
    """layer_norm of each group of neighbouring channels of x [B, C, ...] (clause ROW-7). g, b: [C], or None."""
    x, shape = _grouped("group_norm", x, groups)
    g, b = (_channels("group_norm", what, a, x) for what, a in (("g", g), ("b", b)))
    return RowCall(_rows.layer_norm, (x, g, b), (real("eps", eps),), (x.dtype,), (lambda y: y.reshape(shape),), 3, 2)


def group_norm_vjp(
    x: ArrayLike, u: ArrayLike, groups: int, g: ArrayLike | None = None, bias: bool = True, eps: float = 1e-5
) -> RowCall:
    """The gradients in x, in g where it is given, and in b where bias (clause ROW-7; sums as in layer_norm_vjp)."""
    name = "group_norm_vjp"
    x, shape = _grouped(name, x, groups)
    u = _like(name, "the result's gradient", as_array(u).reshape(x.shape) if np.shape(u) == shape else u, x)
    g = _channels(name, "g", g, x)
    of = _gradients(x, g, bias)
    finish = (lambda y: y.reshape(shape), *[_flat] * (len(of) - 1))
    return RowCall(_rows_backward.layer_norm_vjp, (x, u, g), (bool(bias), real("eps", eps)), of, finish, 3, 2, (-1,))


# ---- activations ----


def _elementwise(name: str, rule: Callable[..., Any], *operands: ArrayLike) -> RowCall:
    x = floats(operands[0], name)
    arrays = (x, *(_like(name, "the result's gradient", u, x) for u in operands[1:]))
    return RowCall(rule, tuple(np.atleast_1d(a) for a in arrays), (), (x.dtype,), (lambda y: y.reshape(x.shape),))


def gelu(x: ArrayLike, approximate: bool = True) -> RowCall:
    """x · Φ(x): by tanh (clause ROW-9), or, not approximate, by erfc (clause ROW-10)."""
    return _elementwise("gelu", _rows.gelu_tanh if approximate else _rows.gelu_erf, x)


def gelu_vjp(x: ArrayLike, u: ArrayLike, approximate: bool = True) -> RowCall:
    """The gradient in x of gelu(x, approximate) (clauses ROW-9, ROW-10)."""
    rule = _rows_backward.gelu_tanh_vjp if approximate else _rows_backward.gelu_erf_vjp
    return _elementwise("gelu_vjp", rule, x, u)


def silu(x: ArrayLike) -> RowCall:
    """x · logistic(x) (clause ROW-11): NaN at -inf."""
    return _elementwise("silu", _rows.silu, x)


def silu_vjp(x: ArrayLike, u: ArrayLike) -> RowCall:
    """The gradient in x of silu(x) (clause ROW-11)."""
    return _elementwise("silu_vjp", _rows_backward.silu_vjp, x, u)


def _rotary(
    name: str, rule: Callable[..., Any], x: ArrayLike, tables: Sequence[ArrayLike], interleaved: bool
) -> RowCall:
    x = floats(x, name)
    if x.ndim == 0 or x.shape[-1] % 2:
        raise ValueError(f"{name} turns pairs along the last axis, whose size must be even; x has shape {x.shape}")
    half = x.shape[-1] // 2
    parts = (x[..., 0::2], x[..., 1::2]) if interleaved else (x[..., :half], x[..., half:])
    arranged = []
    for what, given in zip(("cos", "sin"), tables, strict=True):
        table = as_array(given)
        allowed = (x.dtype, np.dtype(np.float32)) if x.dtype in NARROW else (x.dtype,)
        if table.dtype not in allowed:
            raise TypeError(f"{name}: {what} is {table.dtype}, but x is {x.dtype}; give "
                            f"{' or '.join(str(d) for d in allowed)} (samebits.order.convert)")  # fmt: skip
        try:
            fits = np.broadcast_shapes(table.shape, parts[0].shape) == parts[0].shape and table.shape[-1:] == (half,)
        except ValueError:
            fits = False
        if not fits:
            raise ValueError(f"{name}: {what} has shape {table.shape}, which does not broadcast to the pairs "
                             f"{parts[0].shape}; give [..., {half}], a number for each pair")  # fmt: skip
        arranged.append(table)
    return RowCall(rule, (*parts, *arranged), (bool(interleaved),), (x.dtype,), (_same,))


def rotary(x: ArrayLike, cos: ArrayLike, sin: ArrayLike, interleaved: bool = False) -> RowCall:
    """Rotary position embedding: pairs (i, i + n / 2), or (2i, 2i + 1), turned by an angle each (clause ROW-12).

    x: [..., n]; cos, sin: of the angles, [..., n / 2], broadcasting against x's pairs; a table is an operand, so that
    its bits are its maker's choice.
    """
    return _rotary("rotary", _rows.rotary, x, (cos, sin), interleaved)


def rotary_vjp(u: ArrayLike, cos: ArrayLike, sin: ArrayLike, interleaved: bool = False) -> RowCall:
    """The gradient in x of rotary(x, cos, sin, interleaved) (clause ROW-12)."""
    return _rotary("rotary_vjp", _rows_backward.rotary_vjp, u, (cos, sin), interleaved)
