"""Assertions for the user's own tests."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from samebits.report import Report


def assert_invariant(fn: Callable[..., Any], batch: Any, per_example: bool = False, **options: Any) -> "Report":
    """Passes where `samebits.audit` says that fn holds; takes its arguments.

    Returns:
        The report.

    Raises:
        AssertionError: with counts, the worst entry, the first rows, and the report's text.
        AuditError: where the audit could not run.
    """
    from samebits._audit import audit
    from samebits.testing._failure import text

    __tracebackhide__ = True
    report = audit(fn, batch, per_example, **options)
    if not report.holds:
        raise AssertionError(text(report))
    return report
