"""The order contract for JAX programs. Importing this package imports JAX."""

from samebits.jax._accumulate import (
    accumulate as accumulate,
)
from samebits.jax._accumulator import (
    Accumulator as Accumulator,
)
from samebits.jax._coverage import (
    Coverage as Coverage,
    coverage as coverage,
)
from samebits.jax._export import (
    deserialize as deserialize,
    export as export,
)
from samebits.jax._invariant import (
    UnsupportedPlatform as UnsupportedPlatform,
    invariant as invariant,
)
from samebits.jax._split import (
    split_matmul as split_matmul,
)
from samebits.jax._tiled import tiled as tiled
