"""conv_general_dilated under the convolution rule: any layout, groups of channels or of the batch, as strides."""

from dataclasses import replace
from typing import Any

from samebits._rules import clause
from samebits.jax._rule import Rule, kinds, refuse
from samebits.native._conv_step import MOST_AXES, Spatial
from samebits.native._program import Program
from samebits.native._views import View


def conv(eqn: Any) -> Rule:
    found = kinds(eqn)
    if found <= {"i", "b"}:
        return Rule("xla", clause("exact"))
    if not found <= {"f", "i", "b"}:
        raise refuse(eqn, "a convolution of complex numbers or 8-bit floats has no rule",
                     "convert the operands to float32 (complex: convolve real and imaginary parts)")  # fmt: skip
    if len(_kept_axes(eqn)) > MOST_AXES:
        raise refuse(eqn, f"its kernels have up to {MOST_AXES} spatial axes, and this convolution has {len(_kept_axes(eqn))}",
                     "write it as a matrix product of patches")  # fmt: skip
    return Rule("native", clause("conv"), build=_build)


def _build(p: Program, eqn: Any, v: list[View]) -> View:
    (x, w), out = v, eqn.outvars[0].aval
    result = str(out.dtype)
    dtypes = {x.dtype, w.dtype}
    wide = "float64" if "float64" in (*dtypes, result) else "float32"
    if len(dtypes) > 1 or wide == "float64" or not dtypes <= {"float16", "bfloat16", "float32"}:  # integers, mixed
        x, w = p.convert(x, wide), p.convert(w, wide)
    lhs, rhs, _ = eqn.params["dimension_numbers"]
    x, w = x.transpose(lhs), w.transpose(rhs)
    groups, batches = eqn.params["feature_group_count"], eqn.params["batch_group_count"]
    w = _split(w, 0, max(groups, batches))
    if batches > 1:  # [g, n, c, ...]
        x = _split(x, 0, batches)
        x = x.transpose([1, 0, *range(2, len(x.shape))])
    else:
        x = _split(x, 1, groups)
    axes, spatial = _spatial(eqn)
    lead = [0, 1, 2]
    if not axes:  # no spatial axis: one of size one
        x, w = (replace(a.only(lead), shape=(*(a.shape[i] for i in lead), 1), strides=(*a.only(lead).strides, 0))
                for a in (x, w))  # fmt: skip
    else:
        x, w = (a.only([*lead, *(3 + i for i in axes)]) for a in (x, w))
    made = p.conv(x, w, _out_axes(eqn, axes), spatial, result if result == x.dtype else wide)
    return p.convert(p.reshape(made, out.shape), result)


def _split(view: View, axis: int, groups: int) -> View:
    """The axis as two: groups, the rest."""
    each = view.shape[axis] // groups
    shape = (*view.shape[:axis], groups, each, *view.shape[axis + 1 :])
    stride = view.strides[axis]
    return replace(view, shape=shape, strides=(*view.strides[:axis], stride * each, stride, *view.strides[axis + 1 :]))


def _kept_axes(eqn: Any) -> list[int]:
    """The spatial axes that are not of size one throughout."""
    (x, w), out = (v.aval.shape for v in eqn.invars), eqn.outvars[0].aval.shape
    specs = [spec[2:] for spec in eqn.params["dimension_numbers"]]
    kept = []
    for i, (a, b, c) in enumerate(zip(*specs, strict=True)):
        trivial = (x[a], w[b], out[c], *eqn.params["padding"][i]) == (1, 1, 1, 0, 0)
        if not trivial:
            kept.append(i)
    return kept


def _spatial(eqn: Any) -> tuple[list[int], Spatial]:
    axes, p = _kept_axes(eqn), eqn.params
    out = eqn.outvars[0].aval.shape
    spec = p["dimension_numbers"][2][2:]
    if not axes:
        return axes, Spatial((1,), (0,), (1,), (1,), (1,))
    return axes, Spatial(
        tuple(p["window_strides"][i] for i in axes),
        tuple(p["padding"][i][0] for i in axes),
        tuple(p["lhs_dilation"][i] for i in axes),
        tuple(p["rhs_dilation"][i] for i in axes),
        tuple(out[spec[i]] for i in axes),
    )


def _out_axes(eqn: Any, axes: list[int]) -> list[int]:
    """The result's axes in memory, by their place in [n, c, *image]."""
    n, c, *image = eqn.params["dimension_numbers"][2]
    places = [n, c, *(image[i] for i in axes)]
    order = sorted(range(len(places)), key=places.__getitem__)
    return order if axes else [*order, 2]
