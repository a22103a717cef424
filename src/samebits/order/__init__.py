"""The order contract as slow, obvious NumPy: the definition of each operation's bits (spec/order.md)."""

from samebits.order._accumulate import accumulate as accumulate
from samebits.order._constants import CHUNK as CHUNK, LANES as LANES, VERSION as VERSION
from samebits.order._conv import conv as conv, conv_transpose as conv_transpose
from samebits.order._convert import convert as convert
from samebits.order._cumulative import cummax as cummax, cummin as cummin, cumprod as cumprod, cumsum as cumsum
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
from samebits.order._functions import (
    cos as cos,
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
    tanh as tanh,
)
from samebits.order._ieee import require_ieee_mode as require_ieee_mode
from samebits.order._partials import (
    Partial as Partial,
    join_partials as join_partials,
    matmul_partials as matmul_partials,
)
from samebits.order._scatter import (
    scatter_add as scatter_add,
    scatter_max as scatter_max,
    scatter_min as scatter_min,
    scatter_mul as scatter_mul,
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
