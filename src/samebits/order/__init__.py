"""The order contract as slow, obvious NumPy: the definition of each operation's bits (spec/order.md)."""

from samebits.order._accumulate import (
    Accumulator as Accumulator,
    accumulate as accumulate,
    accumulate_partials as accumulate_partials,
)
from samebits.order._attention import attention as attention, attention_backward as attention_backward
from samebits.order._constants import CHUNK as CHUNK, LANES as LANES, VERSION as VERSION
from samebits.order._conv import conv as conv, conv_transpose as conv_transpose
from samebits.order._convert import convert as convert
from samebits.order._cumulative import (
    cumlogsumexp as cumlogsumexp,
    cummax as cummax,
    cummin as cummin,
    cumprod as cumprod,
    cumsum as cumsum,
)
from samebits.order._dot import dot_general as dot_general, matmul as matmul
from samebits.order._elementwise import (
    abs as abs,
    add as add,
    ceil as ceil,
    clamp as clamp,
    copysign as copysign,
    div as div,
    eq as eq,
    floor as floor,
    ge as ge,
    gt as gt,
    integer_pow as integer_pow,
    is_finite as is_finite,
    le as le,
    lt as lt,
    maximum as maximum,
    minimum as minimum,
    mul as mul,
    ne as ne,
    neg as neg,
    nextafter as nextafter,
    rem as rem,
    round_away as round_away,
    round_even as round_even,
    select as select,
    sign as sign,
    sqrt as sqrt,
    square as square,
    sub as sub,
)
from samebits.order._extrema import (
    all as all,
    any as any,
    argmax as argmax,
    argmin as argmin,
    max as max,
    min as min,
)
from samebits.order._fma import fma32 as fma32, fma64 as fma64
from samebits.order._fold import fold as fold
from samebits.order._functions import (
    acos as acos,
    acosh as acosh,
    asin as asin,
    asinh as asinh,
    atan as atan,
    atan2 as atan2,
    atanh as atanh,
    cbrt as cbrt,
    cos as cos,
    cosh as cosh,
    erf as erf,
    exp as exp,
    exp2 as exp2,
    expm1 as expm1,
    log as log,
    log1p as log1p,
    logistic as logistic,
    pow as pow,
    rsqrt as rsqrt,
    sin as sin,
    sinh as sinh,
    tan as tan,
    tanh as tanh,
)
from samebits.order._ieee import require_ieee_mode as require_ieee_mode
from samebits.order._integers import (
    bitwise_and as bitwise_and,
    bitwise_not as bitwise_not,
    bitwise_or as bitwise_or,
    bitwise_xor as bitwise_xor,
    clz as clz,
    mulhi as mulhi,
    population_count as population_count,
    shift_left as shift_left,
    shift_right_arithmetic as shift_right_arithmetic,
    shift_right_logical as shift_right_logical,
)
from samebits.order._partials import (
    Partial as Partial,
    join_partials as join_partials,
    matmul_partials as matmul_partials,
)
from samebits.order._parts import complex as complex, conj as conj, imag as imag, real as real
from samebits.order._row_functions import (
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
from samebits.order._scatter import (
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
from samebits.order._special import (
    bessel_i0e as bessel_i0e,
    bessel_i1e as bessel_i1e,
    digamma as digamma,
    erf_inv as erf_inv,
    erfc as erfc,
    lgamma as lgamma,
    polygamma as polygamma,
    zeta as zeta,
)
from samebits.order._sum import mean as mean, prod as prod, sum as sum
from samebits.order._top_k import argsort as argsort, sort as sort, top_k as top_k
from samebits.order._windows import (
    select_and_gather_add as select_and_gather_add,
    select_and_scatter_add as select_and_scatter_add,
    window_argmax as window_argmax,
    window_argmin as window_argmin,
    window_max as window_max,
    window_min as window_min,
    window_prod as window_prod,
    window_sum as window_sum,
)
from samebits.order._words import eq_to as eq_to, le_to as le_to, lt_to as lt_to, reduce_precision as reduce_precision
