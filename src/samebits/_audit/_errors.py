"""What stops an audit."""

import traceback
from typing import TYPE_CHECKING, Any

from samebits._audit._guard import Left
from samebits._errors import SamebitsError

if TYPE_CHECKING:
    from samebits.report import Report


class AuditError(SamebitsError, ValueError):
    """The audit cannot run on this function and batch: what, the value met, and the way out."""


class AuditInterrupted(KeyboardInterrupt):
    """Ctrl-C during an audit. `report` has the axes done so far; None where there was none yet."""

    def __init__(self, report: "Report | None"):
        super().__init__("the audit was interrupted")
        self.report = report


def describe(value: Any) -> str:
    """A value on one line of at most 80 characters."""
    try:
        text = " ".join(repr(value).split())
    except Exception as e:
        text = f"{type(value).__name__} (its repr raises {type(e).__name__})"
    return text if len(text) <= 80 else f"{text[:77]}..."


def name_of(fn: Any) -> str:
    """The name of a function as a reader knows it."""
    return getattr(fn, "__name__", None) or type(fn).__name__


def raised(fn: Any, error: BaseException, doing: str) -> AuditError:
    """The AuditError for an exception that came out of the user's function while the audit was `doing` something."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if f.filename == _file_of(fn)]
    where = f"\n  --> {frames[-1].filename}:{frames[-1].lineno} in {frames[-1].name}" if frames else ""
    lines = str(error).strip().splitlines()
    message = lines[0] if lines else ""
    what = message if isinstance(error, Left) else f"raised {type(error).__name__}"
    says = "" if isinstance(error, Left) else f": {message}"
    return AuditError(
        f"{name_of(fn)} {what} while {doing}{says}{where}\n"
        "  way out: call it yourself on the same batch; a function of one row needs per_example=True (--per-example)"
    )


def _file_of(fn: Any) -> str:
    method = vars(type(fn)).get("__call__")  # an object that is called
    code = getattr(fn, "__code__", None) or getattr(method, "__code__", None)
    return getattr(code, "co_filename", "")
