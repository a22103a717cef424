"""What every function of the reference needs from its thread: IEEE arithmetic, and silence about it."""

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

import numpy as np

P = ParamSpec("P")
R = TypeVar("R")


def require_ieee_mode() -> None:
    """Raises FloatingPointError where this thread flushes subnormals (clause NUM-3).

    NumPy computes in the mode that it finds. A library linked with ``-ffast-math`` leaves FTZ and DAZ set on the thread
    that loads it, and then the reference itself would be wrong.
    """
    smallest = np.array(1, np.uint32).view(np.float32)
    normal = np.float32(2.0**-126)
    if smallest * np.float32(2) == 0 or normal * np.float32(0.5) == 0:
        raise FloatingPointError(
            "this thread flushes subnormal numbers to zero, so NumPy cannot compute the reference (clause NUM-3); "
            "a library built with -ffast-math was probably loaded: call samebits.order from a thread started before"
        )


def reference(function: Callable[P, R]) -> Callable[P, R]:
    """Marks a function of the reference: checks the thread's mode, and turns NumPy's warnings off inside."""

    @wraps(function)
    def checked(*args: P.args, **kwargs: P.kwargs) -> R:
        require_ieee_mode()
        with np.errstate(all="ignore"):
            return function(*args, **kwargs)

    return checked
