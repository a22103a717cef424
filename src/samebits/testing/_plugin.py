"""The pytest plugin: the fixture and the marker `samebits`, --samebits-html and --samebits-sizes.

pytest loads it in every run, so nothing of samebits is imported until a test asks for the fixture.
"""

import hashlib
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from samebits.report import Report

MARKER = "samebits(sizes=(1, 7, 64), axes=(...), limit=1e-6): options of samebits.audit for the fixture samebits"


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("samebits", "bits that depend on the batch")
    group.addoption("--samebits-html", metavar="DIR", type=Path, help="write a page for each audit that fails")
    group.addoption("--samebits-sizes", metavar="N,N,...", type=_sizes, help="batch sizes of each audit")


def _sizes(text: str) -> tuple[int, ...]:
    try:
        sizes = tuple(int(n) for n in text.split(","))
    except ValueError:
        sizes = ()
    if not sizes or min(sizes) < 1:
        raise ValueError(f"{text!r}: give whole numbers from 1, separated by commas: 1,7,64")
    return sizes


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", MARKER)


class Samebits:
    """What the fixture `samebits` is: audits with the options of the marker and the command line."""

    def __init__(self, request: pytest.FixtureRequest):
        self._name = request.node.nodeid
        self._folder: Path | None = request.config.getoption("--samebits-html")
        marker = request.node.get_closest_marker("samebits")
        self._options: dict[str, Any] = dict(marker.kwargs) if marker else {}
        sizes = request.config.getoption("--samebits-sizes")
        if sizes:
            self._options["sizes"] = sizes
        self._count = 0

    def audit(self, fn: Callable[..., Any], batch: Any, per_example: bool = False, **options: Any) -> "Report":
        """`samebits.audit`; sizes beyond the batch's rows are left out. A report that fails is written as a page."""
        from samebits import audit

        options = {**self._options, **options}
        if sizes := options.get("sizes"):
            options["sizes"] = _within(sizes, batch)
        report = audit(fn, batch, per_example, **options)
        if not report.holds and self._folder is not None:
            self._count += 1
            self._folder.mkdir(parents=True, exist_ok=True)
            report.save_html(
                self._folder / f"{_file_name(self._name)}{'' if self._count == 1 else f'-{self._count}'}.html"
            )
        return report

    def assert_invariant(
        self, fn: Callable[..., Any], batch: Any, per_example: bool = False, **options: Any
    ) -> "Report":
        """Passes where the audit says that fn holds; raises AssertionError else. Returns the report."""
        from samebits.testing._failure import text

        __tracebackhide__ = True
        report = self.audit(fn, batch, per_example, **options)
        if not report.holds:
            raise AssertionError(text(report))
        return report


def _within(sizes: tuple[int, ...], batch: Any) -> tuple[int, ...] | None:
    """The sizes that the batch has rows for; None, all that the audit takes by itself, where it has none."""
    leaf = batch
    while isinstance(leaf, (dict, list, tuple)) and leaf:
        leaf = next(iter(leaf.values())) if isinstance(leaf, dict) else leaf[0]
    rows = getattr(leaf, "shape", (max(sizes),))[:1]
    return tuple(n for n in sizes if not rows or n <= rows[0]) or None


def _file_name(node: str) -> str:
    """A test's id as a file name: another for each test, so that workers do not meet."""
    digest = hashlib.sha256(node.encode(errors="backslashreplace")).hexdigest()[:8]
    words = re.sub(r"[^a-zA-Z0-9.=[\]_-]+", "_", node)[-120:]
    return f"{words}-{digest}"


@pytest.fixture
def samebits(request: pytest.FixtureRequest) -> Samebits:
    """Audits in a test: samebits.assert_invariant(fn, batch)."""
    return Samebits(request)
