"""samebits.jax.invariant: the same bits alone, batched, vmapped, jitted or not."""

import functools
from collections.abc import Callable
from typing import Any, Literal, ParamSpec, TypeVar

import jax
import numpy as np
from jax.interpreters import mlir

from samebits._errors import SamebitsError, UncoveredOperation
from samebits.jax import _compat
from samebits.jax._rewrite import rewrite, run
from samebits.jax._segments import run_over_devices

P = ParamSpec("P")
T = TypeVar("T")
LEVELS = ("batch", "portable")
# Programs kept for one function, the most recently used ones: a static leaf that is made anew at each call (a lambda)
# would add one each time. Tuning: more than a program has use for at once, and little memory.
_PROGRAMS = 256
_NUMBERS = (bool, int, float, complex)


class UnsupportedPlatform(SamebitsError, NotImplementedError):
    """invariant() met a device for which samebits has no kernels."""


invariant_p = _compat.new_call_primitive("samebits_invariant")


def _lower(ctx: Any, *args: Any, call_jaxpr: Any, promise: str, **_: Any) -> Any:
    if not all(isinstance(n, int) for v in call_jaxpr.invars for n in getattr(v.aval, "shape", ())):
        raise UncoveredOperation(
            "symbolic shapes", "", "", "a native program has its sizes as numbers",
            "export for one size: pad to it, which changes no row (vmap over rows)",
        )  # fmt: skip
    if any(_compat.is_unreduced(v.aval) for v in [*call_jaxpr.invars, *call_jaxpr.outvars]):
        raise UncoveredOperation(
            "unreduced arrays", "", "", "parts that are yet to be added have no order",
            "add them inside invariant() (jax.reshard), or leave unreduced out of the out_sharding",
        )  # fmt: skip
    plan = rewrite(_compat.close(call_jaxpr), promise)
    if _compat.devices_of(ctx) == 1:
        return _compat.lower_as(functools.partial(run, plan), ctx, *args)
    if _compat.is_in_shard_map(ctx):
        return _compat.lower_as(_compat.on_remaining_axes(ctx, functools.partial(run, plan)), ctx, *args)
    if _compat.is_for_export(ctx):
        raise UncoveredOperation(
            "export", "", "", "how a program is split over devices is decided by this process when it compiles",
            "apply jax.shard_map over the whole mesh outside, or export the program of one device",
        )  # fmt: skip
    return _compat.lower_as(functools.partial(run_over_devices, plan), ctx, *args)


def _lower_elsewhere(ctx: Any, *_args: Any, **_: Any) -> Any:
    platforms = ", ".join(ctx.module_context.platforms)
    raise UnsupportedPlatform(
        f"samebits.jax.invariant has kernels for CPUs only, and this program was compiled for {platforms}; "
        "run it under jax.default_device(jax.devices('cpu')[0]) or set JAX_PLATFORMS=cpu"
    )


_compat.needs_devices(invariant_p)
mlir.register_lowering(invariant_p, _lower, platform="cpu")
mlir.register_lowering(invariant_p, _lower_elsewhere)


def invariant(f: Callable[P, T], *, level: Literal["batch", "portable"] = "batch") -> Callable[P, T]:
    """f with every rounding done under the order contract (spec/order.md).

    The result has f's signature and composes with jit, vmap, grad, jvp, scan and checkpoint; the rewrite happens when
    the (by then transformed) program is lowered, so a row has the same bits alone, in any batch and in any place.
    Arguments are pytrees; leaves that are no arrays or numbers (an activation function in an Equinox model) are
    static and must be hashable. Python numbers become arrays, as under jax.jit; inside jax.jit they are static, as
    they are for f itself (so its static_argnums do): x**n is then a product, and else a power, with bits of its own.
    Where both are to agree, pass an array or close over the number.

    level: "batch" admits what has the same bits in every batch on this machine (linear algebra, FFT); "portable"
    admits only operations with a clause, which have the same bits on every machine.

    Raises samebits.UncoveredOperation when the program is compiled, before anything runs, if an operation has no
    rule; UnsupportedPlatform on a GPU or TPU; TypeError for a leaf that is neither an array nor hashable.
    """
    if not callable(f):
        raise TypeError(f"invariant() takes a function of JAX arrays; got {f!r}")
    if level not in LEVELS:
        raise ValueError(f"level must be one of {', '.join(LEVELS)}; got {level!r}")
    program = functools.lru_cache(_PROGRAMS)(functools.partial(_compiled, f, promise=level))

    @functools.wraps(f)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> T:
        leaves, tree = jax.tree_util.tree_flatten((args, kwargs))
        numbers = not _compat.under_jit()
        dynamic = tuple(_is_dynamic(x) and (numbers or not isinstance(x, _NUMBERS)) for x in leaves)
        statics = tuple(None if d else _hashable(x, f) for x, d in zip(leaves, dynamic, strict=True))
        return program(tree, statics, dynamic)(*(x for x, d in zip(leaves, dynamic, strict=True) if d))

    return wrapped


def _compiled(
    f: Callable[..., T], tree: Any, statics: tuple[Any, ...], dynamic: tuple[bool, ...], promise: str
) -> Callable[..., T]:
    """f over its array leaves alone, jitted: an eager call is a jitted one, and a second call traces nothing."""

    def flat_f(*arrays: Any) -> Any:
        rest = iter(arrays)
        leaves = [next(rest) if d else s.value for s, d in zip(statics, dynamic, strict=True)]
        args, kwargs = jax.tree_util.tree_unflatten(tree, leaves)
        out = f(*args, **kwargs)
        for leaf in jax.tree_util.tree_leaves(out):
            if not _is_dynamic(leaf):
                raise TypeError(
                    f"invariant({getattr(f, '__name__', f)!r}) returned {type(leaf).__name__} {leaf!r:.80}, which is "
                    "no array or number; return arrays only, as under jax.jit"
                )
        return out

    functools.update_wrapper(flat_f, f, assigned=("__name__", "__qualname__", "__doc__"), updated=())

    def call(*arrays: Any) -> Any:
        return _compat.bind_call(invariant_p, flat_f, arrays, promise=promise)

    functools.update_wrapper(call, f, assigned=("__name__", "__qualname__"), updated=())
    return jax.jit(call)


class _Static:
    """A leaf that is part of the program: equal if of one type and equal; 0.0 is not -0.0."""

    __slots__ = ("_hash", "_signs", "value")

    def __init__(self, value: Any):
        self.value, self._hash = value, hash(value)
        self._signs = repr(value) if isinstance(value, (float, complex)) else ""

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _Static):
            return NotImplemented
        if type(self.value) is not type(other.value) or self._signs != other._signs:
            return False
        return self.value is other.value or bool(self.value == other.value)


def _is_dynamic(x: Any) -> bool:
    if isinstance(x, (np.ndarray, np.generic)):
        return x.dtype.kind not in "OUSMm"  # ml_dtypes have kinds of their own
    return isinstance(x, (jax.Array, *_NUMBERS)) or hasattr(x, "__jax_array__")


def _hashable(x: Any, f: Callable[..., Any]) -> _Static:
    try:
        return _Static(x)
    except TypeError as error:
        raise TypeError(
            f"an argument of invariant({getattr(f, '__name__', f)!r}) holds {type(x).__name__} {x!r:.80}, which is "
            "neither an array nor hashable; pass arrays, or close over it with functools.partial"
        ) from error
