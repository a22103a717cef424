"""What samebits raises on its own behalf."""

from typing import Any


class SamebitsError(Exception):
    """Something that samebits cannot do as asked: what, the value met, why, and the way out."""


class UncoveredOperation(NotImplementedError):
    """An operation that has no rule, or none in such a program yet; nothing has run.

    Attributes: primitive, dtypes, line (the user's "file:line (function)"), reason, way_out, and types (the dtype and
    shape of each operand and result: "float32[3,4], int32[3] -> float32[3]"; the dtypes where shapes are not known).
    """

    def __init__(self, primitive: str, dtypes: str, line: str, reason: str, way_out: str, types: str = ""):
        self.primitive, self.dtypes, self.line, self.types = primitive, dtypes, line, types or dtypes
        self.reason, self.way_out = reason, way_out
        where = f"\n  --> {line}" if line else ""
        super().__init__(
            f"{primitive} ({self.types}) cannot run under the order contract: {reason}{where}\n  way out: {way_out}"
        )

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled by its parts: it may come from a worker process."""
        return type(self), (self.primitive, self.dtypes, self.line, self.reason, self.way_out, self.types)


class NativeError(SamebitsError, RuntimeError):
    """The native library is missing, refused a descriptor, or cannot run on this CPU."""
