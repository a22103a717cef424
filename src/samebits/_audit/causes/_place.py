"""A row's bits depend on its place in the buffer, at one shape and with the same content."""

from samebits._audit.causes._evidence import Evidence, quoted
from samebits.report import Cause


def cause(e: Evidence) -> Cause | None:
    if not (e.is_rounding and e.differs("position") and e.holds("content")):
        return None
    return Cause(
        "a row's place in the array",
        f"The same rows in another order, at one shape, come out of {e.operation or 'the program'} with other bits.",
        "Code for whole vectors and code for the elements that are left over round otherwise, as do blocks at an edge.",
        (*quoted(e.measured("position")), *quoted(e.measured("content"), 2)),
        "samebits.jax.invariant(f), whose element is computed alike wherever it lies; sizes that are multiples of the "
        "vector help by chance only.",
        "invariant holds by construction.",
    )  # fmt: skip
