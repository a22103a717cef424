"""The rules of the invariant rewrite: primitive -> where and how each of its equations runs, or a refusal."""

from collections.abc import Callable
from typing import Any

from samebits._rules import clause
from samebits.jax import _compat
from samebits.jax._rule import Rule, kinds, refuse
from samebits.jax.rules import _control, _dot, _elementwise, _movement, _random, _reduce, _scatter, _sort
from samebits.jax.rules._batch import LINALG, batched
from samebits.jax.rules._collective import COLLECTIVES
from samebits.jax.rules._control import CALLBACKS as CALLBACKS, inlined as inlined
from samebits.jax.rules._conv import conv
from samebits.jax.rules._fold import WINDOW, fold, fold_windows, reduce_window
from samebits.jax.rules._refused import REFUSED
from samebits.jax.rules._shard_map import shard_map
from samebits.jax.rules._top_k import approx_top_k, top_k
from samebits.jax.rules._windows import select_and_gather_add, select_and_scatter_add


def _integers_only(eqn: Any) -> Rule:
    if kinds(eqn) & {"f", "c", "n"}:
        raise refuse(eqn, "it has no rule in JAX programs yet for floats", "compute it outside invariant()")
    return Rule("xla", clause("exact"))


_UNKNOWN = "samebits knows no rule for this primitive"
_WAY_OUT = "compute it outside invariant(), or compose it of covered operations (samebits.jax.coverage lists them)"
TABLE: dict[str, Callable[[Any], Rule]] = {
    **dict.fromkeys([*_elementwise.FLOAT, *_elementwise.EXACT, *_elementwise.INTEGER, "round", "reduce_precision"],
                    _elementwise.elementwise),
    "select_n": _elementwise.select,
    "convert_element_type": _elementwise.convert,
    "dot_general": _dot.dot_general,
    **dict.fromkeys([*_reduce.REDUCE, *_reduce.LOGIC], _reduce.reduce),
    **dict.fromkeys(["argmax", "argmin"], _reduce.arg_reduce),
    **dict.fromkeys(_reduce.CUMULATIVE, _reduce.cumulative),
    **dict.fromkeys(_movement.VIEWS, _movement.view),
    **dict.fromkeys(_movement.XLA, _movement.moved),
    **COLLECTIVES,
    **dict.fromkeys(["random_bits", "random_seed", "random_fold_in", "random_split"], _random.keyed),
    **dict.fromkeys(["rng_bit_generator", "rng_bit_generator_rows"], _random.generator),
    "complex": _movement.whole,
    "conj": _movement.whole,
    "split": _movement.split,
    "concatenate": _movement.concatenate,
    "stack": _movement.stack,
    "tie": _movement.moved,
    "pad": _movement.pad,
    "scatter": _scatter.overwrite,
    **dict.fromkeys(_scatter.SCATTER, _scatter.scatter),
    "sort": _sort.sort,
    "conv_general_dilated": conv,
    **dict.fromkeys(WINDOW, reduce_window),
    "select_and_scatter_add": select_and_scatter_add,
    "select_and_gather_add": select_and_gather_add,
    "reduce": fold,
    "reduce_window": fold_windows,
    "top_k": top_k,
    "approx_top_k": approx_top_k,
    **dict.fromkeys(_control.CONTROL, _control.control),
    "shard_map": shard_map,
    "remat2": _control.remat,
    "checkpoint": _control.remat,
    **dict.fromkeys(_control.CALLBACKS, _control.callback),
    **dict.fromkeys(LINALG, batched),
    **dict.fromkeys(["iota", "reduce_xor", "lu_pivots_to_permutation"], _integers_only),
}  # fmt: skip


def rule_for(eqn: Any) -> Rule:
    """The rule of an equation that is not a call.

    Raises samebits.UncoveredOperation where it has none.
    """
    name = eqn.primitive.name
    if eqn.primitive not in _compat.jax_primitives() and eqn.primitive not in _compat.OWN:  # a stranger of that name
        raise refuse(eqn, _UNKNOWN, _WAY_OUT)
    if name not in TABLE:
        raise refuse(eqn, *REFUSED.get(name, (_UNKNOWN, _WAY_OUT)))
    return TABLE[name](eqn)
