"""The same call twice differs."""

from samebits._audit.causes._evidence import Evidence, quoted
from samebits.report import Cause


def cause(e: Evidence) -> Cause | None:
    if e.verdict != "nondeterministic" or not e.differs("repeat"):
        return None
    where = f" (line {e.first.line}, {e.operation})" if e.first and e.first.line else ""
    return Cause(
        "state kept between calls, or chance",
        f"Equal calls give different results{where}.",
        "A buffer that a call changes, a global random generator, dropout left on, or a device that adds in any order.",
        quoted(e.measured("repeat")),
        "Hand state and keys in as arguments; switch to evaluation mode.",
        "Results become functions of their arguments.",
    )
