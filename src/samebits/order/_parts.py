"""Complex arrays in the reference: the compositions of `_complex` evaluated with its own functions (clauses CPX-*)."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from samebits.order._complex import FORMULAS, Real, compose, is_complex, part_dtype, whole_dtype
from samebits.order._dtypes import FLOAT32, FLOAT64, as_array, is_float, same_dtype

Function = TypeVar("Function", bound=Callable[..., NDArray])
_Binary = Callable[[NDArray, NDArray], NDArray]
_NAMES = {"max": "maximum", "min": "minimum", "and": "bitwise_and", "or": "bitwise_or", "not": "bitwise_not"}
_FORMULAS = {name: formula for formula, name in _NAMES.items()}


@dataclass(frozen=True)
class _Evaluated:
    """Each operation on NumPy arrays, at once, by the function of samebits.order."""

    double: bool

    def apply(self, name: str, *operands: NDArray) -> NDArray:
        from samebits import order  # the whole module is there by the time anything is computed

        function = getattr(order, _NAMES.get(name, name), None)
        if function is None:
            raise NotImplementedError(f"this operation on complex numbers needs {name} of real ones, which has no rule")
        return function(*operands)

    def constant(self, value: float) -> NDArray:
        return np.array(value, np.float64 if self.double else np.float32)


def evaluate(name: str, *operands: ArrayLike, exponent: int | None = None) -> NDArray:
    """A complex operation; operands broadcast. TypeError where they are not of one complex dtype."""
    arrays = [as_array(x) for x in operands]
    own = same_dtype(name, *(arrays[1:] if name == "select" else arrays))
    if name not in FORMULAS or not (is_complex(own) or name == "complex"):
        raise TypeError(f"{name} has no rule for {own}")
    if name == "select" and arrays[0].dtype.kind != "b":
        raise TypeError(f"select takes a boolean condition, got {arrays[0].dtype}")
    part = own if name == "complex" else part_dtype(own)
    arithmetic = _Evaluated(part == np.float64)
    parts = [tuple(Real(p, arithmetic) for p in parts_of(x)) for x in arrays]
    shape = np.broadcast_shapes(*(x.shape for x in arrays))
    return joined([np.broadcast_to(p.value, shape) for p in compose(name, parts, exponent)])


def parts_of(x: NDArray) -> list[NDArray]:
    """The real and the imaginary part, or x alone where it is real; views."""
    return [np.real(x), np.imag(x)] if is_complex(x.dtype) else [x]


def joined(parts: list[NDArray]) -> NDArray:
    """The array of these parts, bit for bit."""
    if len(parts) == 1:
        return np.array(parts[0])
    out = np.empty(np.shape(parts[0]), whole_dtype(parts[0].dtype))
    out.real, out.imag = parts
    return out


def by_parts(function: Function) -> Function:
    """A function of floats that on complex operands is done for each part by itself (CPX-11)."""

    @wraps(function)
    def apart(*args: Any, **kwargs: Any) -> NDArray:
        arrays = [as_array(x) for x in args]
        numbers = [x for x in arrays if is_complex(x.dtype) or is_float(x.dtype)]
        if not any(is_complex(x.dtype) for x in numbers):
            return function(*args, **kwargs)
        same_dtype(function.__name__, *numbers)
        both = [parts_of(x) if is_complex(x.dtype) else [given] * 2 for x, given in zip(arrays, args, strict=True)]
        return joined([function(*half, **kwargs) for half in zip(*both, strict=True)])

    return cast(Function, apart)


def dot_by_parts(sub: _Binary, add: _Binary) -> Callable[[Function], Function]:
    """Makes a product function(a, b, ...) on complex operands four real ones, a `sub` and an `add` (CPX-12)."""

    def decorate(function: Function) -> Function:
        @wraps(function)
        def apart(*args: Any, **kwargs: Any) -> NDArray:
            a, b, *rest = args
            if not (np.iscomplexobj(a) or np.iscomplexobj(b)):
                return function(*args, **kwargs)
            a, b = (complex_array(x, function.__name__) for x in (a, b))
            dtype = same_dtype(function.__name__, a, b)
            wish = kwargs.pop("out_dtype", None)
            if wish is not None and wish != dtype:
                raise TypeError(f"a product of {dtype} is {dtype}, not {wish}; convert it after")
            (ar, ai), (br, bi) = parts_of(a), parts_of(b)
            pairs = (ar, br), (ai, bi), (ar, bi), (ai, br)
            rr, ii, ri, ir = (function(*pair, *rest, **kwargs) for pair in pairs)
            return joined([sub(rr, ii), add(ri, ir)])

        return cast(Function, apart)

    return decorate


def elementwise(function: Function) -> Function:
    """A function of the reference that on complex operands is the formula of its name (CPX-1)."""

    @wraps(function)
    def either(*args: Any, **kwargs: Any) -> NDArray:
        if any(np.iscomplexobj(x) for x in args):
            return evaluate(_FORMULAS.get(function.__name__, function.__name__), *args, **kwargs)
        return function(*args, **kwargs)

    return cast(Function, either)


# ---- CPX-2: between complex numbers and their parts ----


def real(z: ArrayLike) -> NDArray:
    """The real part, bit for bit. TypeError for what is not complex64 or complex128."""
    return evaluate("real", complex_array(z, "real"))


def imag(z: ArrayLike) -> NDArray:
    """The imaginary part, bit for bit. TypeError for what is not complex64 or complex128."""
    return evaluate("imag", complex_array(z, "imag"))


def conj(z: ArrayLike) -> NDArray:
    """The conjugate: the sign bit of the imaginary part flipped. TypeError for what is not complex."""
    return evaluate("conj", complex_array(z, "conj"))


def complex(x: ArrayLike, y: ArrayLike) -> NDArray:
    """x + iy of two float32 or two float64, bit for bit; TypeError for others."""
    x, y = as_array(x), as_array(y)
    if same_dtype("complex", x, y) not in (FLOAT32, FLOAT64):
        raise TypeError(f"complex takes float32 or float64 parts, got {x.dtype}; convert them first")
    return evaluate("complex", x, y)


def complex_array(z: ArrayLike, operation: str) -> NDArray:
    """z as an array of complex64 or complex128; TypeError names the operation."""
    z = as_array(z)
    if not is_complex(z.dtype):
        raise TypeError(f"{operation} takes complex64 or complex128, got {z.dtype}; convert it first")
    return z
