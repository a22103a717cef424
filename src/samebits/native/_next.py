"""nextafter of float16 and bfloat16 by operations on float32 (clause ELT-6)."""

from typing import TypeVar

import ml_dtypes
import numpy as np

from samebits.order._complex import Real, where

V = TypeVar("V")


def next_narrow(x: Real[V], y: Real[V], dtype: np.dtype) -> Real[V]:
    """The float32 that rounds to the number of `dtype` next to x in the direction of y; x and y are such numbers.

    A step of 0.7 last places, at most 1.4 where the fraction is large, ends nearer to the neighbour than to any other
    number: the neighbour is one last place away, and half of one below a power of two, where the step is 0.7.
    """
    info = ml_dtypes.finfo(dtype)
    place, least = 2.0**-info.nmant, 2.0 ** (info.minexp - info.nmant)  # no float32, which the host may flush
    step = (abs(x) * (0.7 * place))("max", 0.7 * least)
    up = x < y
    stepped = where(abs(x).equals(np.inf), where(up, -float(info.max), float(info.max)), x + where(up, step, -step))
    # A step across zero from the least number rounds to a zero, which keeps the sign of x; NaN stays NaN.
    return where(x.equals(y), y, where(x.equals(x) & y.equals(y), stepped, x + y))
