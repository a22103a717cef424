"""What compositions of rows are written in: values with the contract's operations, each rounded by its own clause.

A composition (``_rows``, ``_rows_backward``) is a function of `Value`; `Operations` says what computes it: NumPy by the
reference's functions (``_row_functions``), or a program of the native library (``samebits.native._rows``). Both read
the same text, so they cannot differ but in a kernel.
"""

from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

T = TypeVar("T")


class Operations(Protocol[T]):
    """Operations on arrays [leading axes, row axes] that broadcast, in the working dtype: float32 or float64."""

    def constant(self, value: float) -> T:
        """The number, rounded to the working dtype."""
        ...

    def map(self, name: str, *operands: T, exponent: int = 0) -> T:
        """An elementwise operation by its name in native/include/samebits/ops.def."""
        ...

    def reduce(self, name: str, x: T) -> T:
        """sum or max over the row axes, which stay with size one."""
        ...

    def total(self, x: T) -> T:
        """The sum over the leading axes (and those that a parameter does not have), for a parameter's gradient."""
        ...

    def length(self, x: T) -> int:
        """The number of elements of a row."""
        ...

    def pair(self, first: T, second: T, interleaved: bool) -> T:
        """Two halves of the last axis as one: one after the other, or by turns (clause MOVE-1)."""
        ...


@dataclass(frozen=True)
class Value(Generic[T]):
    """An array under operators: each symbol is one operation, in the order that parentheses give."""

    operations: Operations[T]
    array: T

    def _map(self, name: str, *operands: "Value[T] | float", exponent: int = 0) -> "Value[T]":
        arrays = (v.array if isinstance(v, Value) else self.operations.constant(v) for v in operands)
        return Value(self.operations, self.operations.map(name, *arrays, exponent=exponent))

    def __add__(self, other: "Value[T] | float") -> "Value[T]":
        return self._map("add", self, other)

    def __radd__(self, other: float) -> "Value[T]":
        return self._map("add", other, self)

    def __sub__(self, other: "Value[T] | float") -> "Value[T]":
        return self._map("sub", self, other)

    def __rsub__(self, other: float) -> "Value[T]":
        return self._map("sub", other, self)

    def __mul__(self, other: "Value[T] | float") -> "Value[T]":
        return self._map("mul", self, other)

    def __rmul__(self, other: float) -> "Value[T]":
        return self._map("mul", other, self)

    def __truediv__(self, other: "Value[T] | float") -> "Value[T]":
        return self._map("div", self, other)

    def __neg__(self) -> "Value[T]":
        return self._map("neg", self)

    def __pow__(self, exponent: int) -> "Value[T]":
        return self._map("integer_pow", self, exponent=exponent)

    def function(self, name: str) -> "Value[T]":
        """exp, log, tanh, ... by name."""
        return self._map(name, self)

    def equals(self, other: "Value[T]") -> "Value[T]":
        return self._map("eq", self, other)

    def select(self, true: "Value[T] | float", false: "Value[T] | float") -> "Value[T]":
        """`true` where this is true, else `false`."""
        return self._map("select", self, true, false)

    def sum(self) -> "Value[T]":
        """Over the row, kept with size one (clauses SUM-*)."""
        return Value(self.operations, self.operations.reduce("sum", self.array))

    def max(self) -> "Value[T]":
        """Over the row, kept with size one (clauses MAX-*)."""
        return Value(self.operations, self.operations.reduce("max", self.array))

    def mean(self) -> "Value[T]":
        """sum / n (clause SUM-7)."""
        return self.sum() / self.length

    def total(self) -> "Value[T]":
        """Over everything but a parameter's own axes (clauses SUM-*)."""
        return Value(self.operations, self.operations.total(self.array))

    def beside(self, second: "Value[T]", interleaved: bool) -> "Value[T]":
        return Value(self.operations, self.operations.pair(self.array, second.array, interleaved))

    @property
    def length(self) -> int:
        return self.operations.length(self.array)


Row = Value[Any]
