"""Rows that models live on, as compositions (clauses ROW-*): each symbol is one rounded operation.

x is [leading axes, row axes]; sums and maxima are over the row. Nothing here knows what computes it (``_row_value``).
"""

from samebits.order._row_value import Row


def shifted(x: Row) -> Row:
    """x less the row's maximum."""
    return x - x.max()


def softmax(x: Row) -> Row:
    """ROW-2."""
    e = shifted(x).function("exp")
    return e / e.sum()


def log_softmax(x: Row) -> Row:
    """ROW-3."""
    d = shifted(x)
    return d - d.function("exp").sum().function("log")


def finite_max(x: Row) -> Row:
    """The row's maximum, or 0 in its place where it is infinite or NaN."""
    m = x.max()
    return m.function("is_finite").select(m, 0.0)


def logsumexp(x: Row) -> Row:
    """ROW-4: one value for a row."""
    m = finite_max(x)
    return (x - m).function("exp").sum().function("log") + m


def cross_entropy_labels(x: Row, at_label: Row) -> Row:
    """ROW-5: log_softmax at the label, negated. at_label: the element of x there."""
    m = x.max()
    return (x - m).function("exp").sum().function("log") - (at_label - m)


def cross_entropy(x: Row, p: Row) -> Row:
    """ROW-6. The product with -1 is a negation whose NaN is canonical."""
    return -1.0 * (p * log_softmax(x)).sum()


def normalized(x: Row, eps: float) -> tuple[Row, Row, Row]:
    """(d, v + eps, 1 / sqrt(v + eps)) of ROW-7."""
    d = x - x.mean()
    w = (d * d).mean() + eps
    return d, w, w.function("rsqrt")


def layer_norm(x: Row, g: Row | None, b: Row | None, eps: float) -> Row:
    """ROW-7; group_norm too."""
    d, _, r = normalized(x, eps)
    return affine(d * r, g, b)


def rms_norm(x: Row, g: Row | None, eps: float) -> Row:
    """ROW-8."""
    r = ((x * x).mean() + eps).function("rsqrt")
    return affine(x * r, g, None)


def affine(h: Row, g: Row | None, b: Row | None) -> Row:
    """h · g + b, of what is given."""
    y = h if g is None else h * g
    return y if b is None else y + b


SQRT_2_OVER_PI, CUBIC, SQRT_HALF = 0.7978845608028654, 0.044715, 0.7071067811865476
"""Rounded to the working dtype where they are used."""


def gelu_tanh(x: Row) -> Row:
    """ROW-9."""
    return x * (0.5 * (1.0 + gelu_angle(x).function("tanh")))


def gelu_angle(x: Row) -> Row:
    """What gelu_tanh takes the tanh of."""
    return SQRT_2_OVER_PI * (x + CUBIC * x**3)


def gelu_erf(x: Row) -> Row:
    """ROW-10."""
    return (0.5 * x) * ((-x) * SQRT_HALF).function("erfc")


def silu(x: Row) -> Row:
    """ROW-11."""
    return x * x.function("logistic")


def rotary(first: Row, second: Row, cos: Row, sin: Row, interleaved: bool) -> Row:
    """ROW-12: each pair turned by its angle."""
    return (first * cos - second * sin).beside(second * cos + first * sin, interleaved)
