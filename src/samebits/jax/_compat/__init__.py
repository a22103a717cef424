"""Everything that depends on JAX's version, in one package: private names of JAX stand in its files alone.

Public names are used where there are any (tests/jax/test_versions.py looks for others elsewhere). The test suite runs
with jax 0.10.2. What later versions change here:

0.11  Jaxpr and ClosedJaxpr are one class, whose `jaxpr` is itself and whose `consts` may be empty. A scan says how its
      operands are divided by a tree (ft_in), not by numbers.
0.12  CallPrimitive is gone. A call carries a jaxpr from the start (jex.create_call_primitive), and its constants are
      operands; call_p and closed_call_p have become "eval_jaxpr".

Both were tried as far as this machine allows: the Python sources of 0.11.0 and of August 2026 over the jaxlib of
0.10.2 (dev/LOG.md).
"""

from samebits.jax._compat._accumulate import (
    accumulate_p as accumulate_p,
)
from samebits.jax._compat._calls import (
    bind_call as bind_call,
    lower_as as lower_as,
    new_call_primitive as new_call_primitive,
    under_jit as under_jit,
)
from samebits.jax._compat._devices import (
    axes_size as axes_size,
    bind_reduction as bind_reduction,
    devices_of as devices_of,
    gather_alike as gather_alike,
    in_mesh_order as in_mesh_order,
    is_for_export as is_for_export,
    is_in_shard_map as is_in_shard_map,
    is_unreduced as is_unreduced,
    mesh_of as mesh_of,
    needs_devices as needs_devices,
    on_remaining_axes as on_remaining_axes,
    partitioned as partitioned,
    spec_of as spec_of,
    unsplit as unsplit,
    vary as vary,
    varying_axes as varying_axes,
)
from samebits.jax._compat._jaxprs import (
    CALLS as CALLS,
    ClosedJaxpr as ClosedJaxpr,
    Jaxpr as Jaxpr,
    JaxprEqn as JaxprEqn,
    Literal as Literal,
    Primitive as Primitive,
    ShapedArray as ShapedArray,
    bind as bind,
    close as close,
    frames as frames,
    is_extended_dtype as is_extended_dtype,
    jax_primitives as jax_primitives,
    jaxpr_as_fun as jaxpr_as_fun,
    open_jaxpr as open_jaxpr,
    opened as opened,
    plain_type as plain_type,
    scan_counts as scan_counts,
    sub_jaxprs as sub_jaxprs,
    trace as trace,
    user_line as user_line,
    without_references as without_references,
)
from samebits.jax._compat._programs import (
    PROGRAMS as PROGRAMS,
)
from samebits.jax._compat._random import (
    is_jax_generator as is_jax_generator,
    is_threefry as is_threefry,
    keys_of as keys_of,
    rng_rows_p as rng_rows_p,
)

OWN = frozenset([accumulate_p, rng_rows_p])
"""Primitives of this package that user programs hold, and that have rules as JAX's have."""
