"""conv_general_dilated under the convolution rule: layouts and groups of channels or of the batch are strides."""

import math
from dataclasses import replace
from typing import Any

from samebits._rules import clause
from samebits.jax._rule import Rule, is_native, kinds, refuse
from samebits.native._conv_step import MOST_AXES, MOST_POSITIONS, Spatial
from samebits.native._pairs import PARTS
from samebits.native._program import Program
from samebits.native._views import View


def conv(eqn: Any) -> Rule:
    """conv_general_dilated (CONV-1); of complex numbers three real ones (CONV-6)."""
    found = kinds(eqn)
    if found <= {"i", "b"}:
        return Rule("xla", clause("exact"))
    if not all(is_native(v.aval) for v in [*eqn.invars, *eqn.outvars]):
        raise refuse(eqn, "its operands have dtypes that native programs do not compute in",
                     "convert them to float32")  # fmt: skip
    axes = len(_axes(eqn))
    if axes > MOST_AXES:
        raise refuse(eqn, f"its kernels have up to {MOST_AXES} spatial axes, and this convolution has {axes}",
                     "write it as a matrix product of patches")  # fmt: skip
    kernel = eqn.invars[1].aval.shape
    if math.prod(kernel[i] for i in eqn.params["dimension_numbers"][1][2:]) > MOST_POSITIONS:
        raise refuse(eqn, f"a kernel of more than {MOST_POSITIONS} positions (an image is one in a kernel's gradient)",
                     "cut the image or the kernel into parts")  # fmt: skip
    return Rule("native", clause("complex_conv" if "c" in found else "conv"), build=_build)


def _build(p: Program, eqn: Any, v: list[View]) -> View:
    result = str(eqn.outvars[0].aval.dtype)
    if result in PARTS:
        return _of_parts(p, eqn, v, PARTS[result])
    dtypes = {x.dtype for x in v}
    wide = "float64" if "float64" in (*dtypes, result) else "float32"
    if len(dtypes) > 1 or wide == "float64" or not dtypes <= {"float16", "bfloat16", "float32"}:
        v = [p.convert(x, wide) for x in v]  # integers, mixed, preferred_element_type
    x, w = v
    return p.convert(_convolved(p, eqn, x, w, result if result == x.dtype else wide), result)


def _of_parts(p: Program, eqn: Any, v: list[View], dtype: str) -> View:
    """Complex numbers: three real convolutions, as JAX composes them (CONV-6)."""
    (a, b), (c, d) = ([p.map(part, x) for part in ("real", "imag")] for x in v)
    pairs = (p.map("add", a, b), c), (a, p.map("sub", d, c)), (b, p.map("add", c, d))
    first, second, third = (_convolved(p, eqn, p.convert(x, dtype), p.convert(w, dtype), dtype) for x, w in pairs)
    return p.map("complex", p.map("sub", first, third), p.map("add", first, second))


def _convolved(p: Program, eqn: Any, x: View, w: View, dtype: str) -> View:
    lhs, rhs, _ = eqn.params["dimension_numbers"]
    axes = _axes(eqn)
    x, w = (view.only([*spec[:2], *(spec[2 + i] for i in axes)]) for view, spec in ((x, lhs), (w, rhs)))
    if not axes:
        x, w = (replace(a, shape=(*a.shape, 1), strides=(*a.strides, 0)) for a in (x, w))
    features, batches = eqn.params["feature_group_count"], eqn.params["batch_group_count"]
    w = _split(w, 0, max(features, batches))
    x = _split(x, 0, batches) if batches > 1 else _split(x, 1, features)
    if batches > 1:  # [g, n, c, ...]
        x = x.transpose([1, 0, *range(2, len(x.shape))])
    return p.reshape(p.conv(x, w, _out_axes(eqn, axes), _spatial(eqn, axes), dtype), eqn.outvars[0].aval.shape)


def _split(view: View, axis: int, groups: int) -> View:
    """The axis as two: groups, the rest."""
    each, step = view.shape[axis] // groups, view.strides[axis]
    shape = (*view.shape[:axis], groups, each, *view.shape[axis + 1 :])
    return replace(view, shape=shape, strides=(*view.strides[:axis], step * each, step, *view.strides[axis + 1 :]))


def _axes(eqn: Any) -> list[int]:
    """The spatial axes, but for those that are of size one throughout."""
    shapes = [v.aval.shape for v in (*eqn.invars, *eqn.outvars)]
    specs = eqn.params["dimension_numbers"]

    def is_one(i: int) -> bool:
        return all(shape[spec[2 + i]] == 1 for shape, spec in zip(shapes, specs, strict=True))

    return [i for i, pads in enumerate(eqn.params["padding"]) if any(pads) or not is_one(i)]


def _spatial(eqn: Any, axes: list[int]) -> Spatial:
    if not axes:
        return Spatial((1,), (0,), (1,), (1,), (1,))
    p, out, spec = eqn.params, eqn.outvars[0].aval.shape, eqn.params["dimension_numbers"][2]

    def along(row: Any) -> tuple[int, ...]:
        return tuple(row[i] for i in axes)

    return Spatial(along(p["window_strides"]), along([low for low, _ in p["padding"]]), along(p["lhs_dilation"]),
                   along(p["rhs_dilation"]), along([out[i] for i in spec[2:]]))  # fmt: skip


def _out_axes(eqn: Any, axes: list[int]) -> list[int]:
    """The axes of [n, c, *image] in the order in which the result has them."""
    spec = eqn.params["dimension_numbers"][2]
    places = [*spec[:2], *(spec[2 + i] for i in axes)] if axes else [*spec[:2], 2]
    return sorted(range(len(places)), key=places.__getitem__)
