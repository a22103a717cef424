"""The native library on NumPy arrays: the contract's operations, bit for bit those of ``samebits.order``."""

from samebits.native._accumulate import Accumulator as Accumulator, accumulate_partials as accumulate_partials
from samebits.native._apply import apply as apply, names as names
from samebits.native._attention import attention as attention, attention_backward as attention_backward
from samebits.native._conv import conv as conv, conv_transpose as conv_transpose
from samebits.native._cumulative import (
    cumlogsumexp as cumlogsumexp,
    cummax as cummax,
    cummin as cummin,
    cumprod as cumprod,
    cumsum as cumsum,
)
from samebits.native._dot import matmul as matmul
from samebits.native._library import library as _loaded
from samebits.native._pack import Packed as Packed, pack as pack
from samebits.native._partials import (
    Partial as Partial,
    join_partials as join_partials,
    matmul_partials as matmul_partials,
)
from samebits.native._reduce import (
    accumulate as accumulate,
    all as all,
    any as any,
    argmax as argmax,
    argmin as argmin,
    max as max,
    mean as mean,
    min as min,
    prod as prod,
    sum as sum,
)
from samebits.native._rows import (
    cross_entropy as cross_entropy,
    cross_entropy_vjp as cross_entropy_vjp,
    gelu as gelu,
    gelu_vjp as gelu_vjp,
    group_norm as group_norm,
    group_norm_vjp as group_norm_vjp,
    layer_norm as layer_norm,
    layer_norm_vjp as layer_norm_vjp,
    log_softmax as log_softmax,
    log_softmax_vjp as log_softmax_vjp,
    logsumexp as logsumexp,
    logsumexp_vjp as logsumexp_vjp,
    rms_norm as rms_norm,
    rms_norm_vjp as rms_norm_vjp,
    rotary as rotary,
    rotary_vjp as rotary_vjp,
    silu as silu,
    silu_vjp as silu_vjp,
    softmax as softmax,
    softmax_vjp as softmax_vjp,
)
from samebits.native._scatter import (
    scatter_add as scatter_add,
    scatter_max as scatter_max,
    scatter_min as scatter_min,
    scatter_mul as scatter_mul,
    scatter_sub as scatter_sub,
    segment_max as segment_max,
    segment_min as segment_min,
    segment_prod as segment_prod,
    segment_sum as segment_sum,
)
from samebits.native._top_k import argsort as argsort, sort as sort, top_k as top_k
from samebits.native._windows import (
    select_and_gather_add as select_and_gather_add,
    select_and_scatter_add as select_and_scatter_add,
    window_argmax as window_argmax,
    window_argmin as window_argmin,
    window_max as window_max,
    window_min as window_min,
    window_prod as window_prod,
    window_sum as window_sum,
)


def isa() -> str:
    """The instruction set in use; the environment variable SAMEBITS_ISA chooses another. No bit depends on it."""
    return _loaded().sb_isa().decode()


def isas() -> list[str]:
    """The instruction sets that this CPU can run, the widest last."""
    return _loaded().sb_isas().decode().split(",")


def threads() -> int:
    """Threads that a call uses; the environment variable SAMEBITS_THREADS sets it. No bit depends on it."""
    return _loaded().sb_threads()


def contract_version() -> int:
    """The version of spec/order.md that the library computes (clause VER-3)."""
    return _loaded().sb_contract_version()
