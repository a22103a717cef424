"""Data movement: strides in a native program, XLA's own operations elsewhere. No arithmetic in either."""

from typing import Any

from samebits._rules import clause
from samebits.jax._rule import Rule, is_native
from samebits.native._pairs import PARTS
from samebits.native._program import Program
from samebits.native._views import View, contiguous_strides

# Moved by XLA, whatever the dtype.
XLA = frozenset(
    "gather dynamic_slice dynamic_update_slice bitcast_convert_type optimization_barrier "
    "random_wrap random_unwrap threefry2x32 threefry4x32 philox2x32 philox4x32 create_token after_all "
    "copy_to_host_async "
    "empty empty2 random_clone from_edtype to_edtype unstack tile iota_2x32_shape "
    "layout_constraint device_put platform_index dce_sink".split()
)


def _dense(eqn: Any) -> bool:
    return all(is_native(v.aval) for v in [*eqn.invars, *eqn.outvars])


def moved(eqn: Any) -> Rule:
    """Whatever XLA moves."""
    return Rule("xla", clause("move"))


def view(eqn: Any) -> Rule:
    """reshape, transpose, broadcast_in_dim, slice, rev, squeeze, expand_dims, copy; a complex number's parts."""
    return Rule("view" if _dense(eqn) else "xla", clause("move"), build=_VIEWS[eqn.primitive.name])


def _reshape(p: Program, eqn: Any, v: list[View]) -> View:
    order = eqn.params.get("dimensions")  # lax.reshape reads the axes in this order
    return p.reshape(v[0] if order is None else v[0].transpose(order), eqn.outvars[0].aval.shape)


def _slice(p: Program, eqn: Any, v: list[View]) -> View:
    return v[0].slice(eqn.params["start_indices"], eqn.params["limit_indices"], eqn.params["strides"])


_VIEWS = {
    "reshape": _reshape,
    "squeeze": lambda p, e, v: p.reshape(v[0], e.outvars[0].aval.shape),
    "expand_dims": lambda p, e, v: p.reshape(v[0], e.outvars[0].aval.shape),
    "transpose": lambda p, e, v: v[0].transpose(e.params["permutation"]),
    "broadcast_in_dim": lambda p, e, v: v[0].broadcast(e.params["shape"], e.params["broadcast_dimensions"]),
    "slice": _slice,
    "rev": lambda p, e, v: v[0].reverse(e.params["dimensions"]),
    "copy": lambda p, e, v: v[0],
    "copy_p": lambda p, e, v: v[0],
    "name": lambda p, e, v: v[0],
    "stop_gradient": lambda p, e, v: v[0],
    "real": lambda p, e, v: p.map("real", v[0]),
    "imag": lambda p, e, v: p.map("imag", v[0]),
}
VIEWS = frozenset(_VIEWS)


def whole(eqn: Any) -> Rule:
    """lax.complex: its parts side by side. lax.conj: a sign flipped, or a real number made complex."""

    def build(p: Program, eqn: Any, v: list[View]) -> View:
        if eqn.primitive.name == "complex":
            return p.map("complex", *v)
        return p.map("conj", v[0]) if v[0].dtype in PARTS else p.convert(v[0], str(eqn.outvars[0].aval.dtype))

    return Rule("either", clause("complex"), build=build)


def split(eqn: Any) -> Rule:
    """Slices along an axis."""

    def build(p: Program, eqn: Any, v: list[View]) -> list[View]:
        axis, parts, at = eqn.params["axis"], [], 0
        for size in eqn.params["sizes"]:
            start, limit = [0] * len(v[0].shape), list(v[0].shape)
            start[axis], limit[axis] = at, at + size
            parts.append(v[0].slice(start, limit))
            at += size
        return parts

    return Rule("either" if _dense(eqn) else "xla", clause("move"), build=build)


def concatenate(eqn: Any) -> Rule:
    """Operands side by side along an axis."""

    def build(p: Program, eqn: Any, v: list[View]) -> View:
        out, axis, at, pieces = eqn.outvars[0].aval, eqn.params["dimension"], 0, []
        strides = contiguous_strides(out.shape)
        for piece in v:
            pieces.append((piece, at * strides[axis], strides))
            at += piece.shape[axis]
        return p.join(str(out.dtype), out.shape, pieces)

    return Rule("either" if _dense(eqn) else "xla", clause("move"), build=build)


def stack(eqn: Any) -> Rule:
    """Operands side by side along a new axis."""

    def build(p: Program, eqn: Any, v: list[View]) -> View:
        out, axis = eqn.outvars[0].aval, eqn.params["axis"]
        strides = contiguous_strides(out.shape)
        rest = strides[:axis] + strides[axis + 1 :]
        return p.join(str(out.dtype), out.shape, [(x, i * strides[axis], rest) for i, x in enumerate(v)])

    return Rule("either" if _dense(eqn) else "xla", clause("move"), build=build)


def pad(eqn: Any) -> Rule:
    """Padding that adds (never cuts) is a fill and a strided copy."""

    def build(p: Program, eqn: Any, v: list[View]) -> View:
        out = eqn.outvars[0].aval
        strides = contiguous_strides(out.shape)
        config = eqn.params["padding_config"]
        offset = sum(low * s for (low, _, _), s in zip(config, strides, strict=True))
        spread = tuple(s * (inner + 1) for (_, _, inner), s in zip(config, strides, strict=True))
        fill = (v[1].broadcast(out.shape, ()), 0, strides)
        return p.join(str(out.dtype), out.shape, [fill, (v[0], offset, spread)])

    cuts = any(low < 0 or high < 0 for low, high, _ in eqn.params["padding_config"])
    return Rule("either" if _dense(eqn) and not cuts else "xla", clause("move"), build=build)
