"""shard_map keeps its form, and its body is rewritten: each device runs the rewritten program on its part."""

from collections.abc import Callable
from typing import Any

import jax

from samebits._rules import clause
from samebits.jax import _compat
from samebits.jax._rule import Rule


def shard_map(eqn: Any) -> Rule:
    """shard_map again, over the rewritten body."""
    return Rule("xla", clause("control"), emit=_emit)


def _emit(eqn: Any, values: list[Any], rewrite: Callable[[Any], Any]) -> list[Any]:
    p = eqn.params

    def local(*parts: Any) -> list[Any]:
        return list(_compat.jaxpr_as_fun(rewrite(p["jaxpr"]))(*parts))

    mapped = jax.shard_map(
        local,
        mesh=p["mesh"],
        in_specs=tuple(p["in_specs"]),
        out_specs=list(p["out_specs"]),
        axis_names=set(p["newly_manual_axes"]),
        check_vma=False,  # JAX has checked the program; the rewritten one no longer says where a value varies
    )
    return list(mapped(*values))
