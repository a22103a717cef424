"""Assertions for the user's own tests."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from samebits._audit import audit

if TYPE_CHECKING:
    from samebits.report import Report


def assert_invariant(fn: Callable[..., Any], batch: Any, per_example: bool = False, **options: Any) -> "Report":
    """Passes where `samebits.audit` says that fn holds; takes its arguments.

    Returns:
        The report.

    Raises:
        AssertionError: with the report's text.
        AuditError: where the audit could not run.
    """
    report = audit(fn, batch, per_example, **options)
    if not report.holds:
        raise AssertionError(f"{report.subject} depends on its batch\n{report!r}")
    return report
