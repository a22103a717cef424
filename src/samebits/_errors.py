"""What samebits raises on its own behalf."""


class SamebitsError(Exception):
    """Something that samebits cannot do as asked: what, the value met, why, and the way out."""


class UncoveredOperation(NotImplementedError):
    """An operation that has no rule, or none in such a program yet; nothing has run.

    Attributes: primitive, dtypes, line (the user's "file:line (function)"), reason, way_out.
    """

    def __init__(self, primitive: str, dtypes: str, line: str, reason: str, way_out: str):
        self.primitive, self.dtypes, self.line = primitive, dtypes, line
        self.reason, self.way_out = reason, way_out
        where = f"\n  --> {line}" if line else ""
        super().__init__(
            f"{primitive} ({dtypes}) cannot run under the order contract: {reason}{where}\n  way out: {way_out}"
        )


class NativeError(SamebitsError, RuntimeError):
    """The native library is missing, refused a descriptor, or cannot run on this CPU."""
