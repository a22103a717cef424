"""Vector-Jacobian products of ``_rows``: what JAX 0.10.2 derives of these compositions, written out (clause DER-1).

u is the gradient of the result. Where the compositions take parameters, their gradients follow that of x, summed over
all rows by the rule of sums.
"""

import math

from samebits.order._row_value import Row
from samebits.order._rows import CUBIC, SQRT_2_OVER_PI, SQRT_HALF, finite_max, gelu_angle, normalized, shifted


def spread(v: Row) -> Row:
    """The gradient of one number that a row shares, once it has one term: a sum of that term (clause SUM-6)."""
    return v + 0.0


def softmax_vjp(x: Row, u: Row) -> Row:
    """ROW-2."""
    e = shifted(x).function("exp")
    s = e.sum()
    return (u / s + spread(-((u * s**-2) * e).sum())) * e


def log_softmax_vjp(x: Row, u: Row) -> Row:
    """ROW-3."""
    e = shifted(x).function("exp")
    return u + spread((-u).sum() / e.sum()) * e


def logsumexp_vjp(x: Row, u: Row) -> Row:
    """ROW-4. The sign is of the sum's absolute value, which JAX takes: NaN of a row of -inf."""
    e = (x - finite_max(x)).function("exp")
    s = e.sum()
    return spread((u / s) * s.function("sign")) * e


def cross_entropy_labels_vjp(x: Row, u: Row, index: Row, label: Row) -> Row:
    """ROW-5. index: 0, 1, ... along the row."""
    e = shifted(x).function("exp")
    return spread(u / e.sum()) * e + index.equals(label).select(-u, 0.0)


def cross_entropy_vjp(x: Row, u: Row, p: Row) -> Row:
    """ROW-6, in x."""
    return log_softmax_vjp(x, p * -u)


def layer_norm_vjp(x: Row, u: Row, g: Row | None, has_bias: bool, eps: float) -> tuple[Row, ...]:
    """ROW-7: in x, then in g and b where they are."""
    d, w, r = normalized(x, eps)
    h = u if g is None else u * g
    t = h * r + norm_scale(h * d, w, r) * (2.0 * d)
    return t + spread((-t).mean()), *parameters(u, d * r, g is not None, has_bias)


def rms_norm_vjp(x: Row, u: Row, g: Row | None, eps: float) -> tuple[Row, ...]:
    """ROW-8: in x, then in g where it is."""
    w = (x * x).mean() + eps
    r = w.function("rsqrt")
    h = u if g is None else u * g
    return h * r + norm_scale(h * x, w, r) * (2.0 * x), *parameters(u, x * r, g is not None, False)


def norm_scale(products: Row, w: Row, r: Row) -> Row:
    """The gradient in one square: through 1 / sqrt(w), and w's mean."""
    return spread((products.sum() * (-0.5 * (r / w))) / products.length)


def parameters(u: Row, h: Row, has_scale: bool, has_bias: bool) -> tuple[Row, ...]:
    """The gradients in g and b of h · g + b."""
    scale = ((u * h).total(),) if has_scale else ()
    return (*scale, u.total()) if has_bias else scale


def gelu_tanh_vjp(x: Row, u: Row) -> Row:
    """ROW-9."""
    t = gelu_angle(x).function("tanh")
    c = (0.5 * (x * u)) * (1.0 - t)
    a = SQRT_2_OVER_PI * (c + c * t)
    return (u * (0.5 * (1.0 + t)) + a) + (CUBIC * a) * (3.0 * x**2)


def gelu_erf_vjp(x: Row, u: Row) -> Row:
    """ROW-10."""
    half, z = 0.5 * x, (-x) * SQRT_HALF
    slope = ((-2.0 / math.sqrt(math.pi)) * (half * u)) * (-(z * z)).function("exp")
    return -(slope * SQRT_HALF) + 0.5 * (u * z.function("erfc"))


def silu_vjp(x: Row, u: Row) -> Row:
    """ROW-11."""
    s = x.function("logistic")
    return u * s + (x * u) * (s * (1.0 - s))


def rotary_vjp(first: Row, second: Row, cos: Row, sin: Row, interleaved: bool) -> Row:
    """ROW-12, in x; first and second are the halves of u: each pair turned back."""
    return (first * cos + second * sin).beside(second * cos - first * sin, interleaved)
