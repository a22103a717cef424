"""`samebits audit FILE.py[:NAME]`."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from samebits._audit import audit
from samebits._audit._errors import AuditInterrupted
from samebits.cli import _fix
from samebits.cli._across import checked, run as run_across
from samebits.cli._certificate import certify
from samebits.cli._load import Target, UsageError, load
from samebits.report import Report

INTERRUPTED = 130
"""The exit status of a shell's command after Ctrl-C."""
STATUS = {"holds": 0, "rounding": 1, "amplified": 1, "leak": 2, "nondeterministic": 2}


def command(
    target: Annotated[str, typer.Argument(metavar="FILE.py[:NAME]", help="The function: fn by default, else single.")],
    batch: Annotated[str | None, typer.Option(metavar="NAME", help="A batch of the file, or a function of n.")] = None,
    rows: Annotated[int | None, typer.Option(metavar="N", help="Rows of the batch (make_input(N)).")] = None,
    per_example: Annotated[bool, typer.Option("--per-example", help="NAME takes one row and is mapped.")] = False,
    fix: Annotated[bool, typer.Option("--fix", help="Also what makes it hold, tried and timed.")] = False,
    json_to: Annotated[Path | None, typer.Option("--json", metavar="F", help="Write the report as JSON.")] = None,
    html_to: Annotated[Path | None, typer.Option("--html", metavar="F", help="Write the report as a page.")] = None,
    across: Annotated[str | None, typer.Option(metavar="KINDS", help="Also elsewhere: threads,isa,precision.")] = None,
    certificate: Annotated[Path | None, typer.Option(metavar="F", help="Write what `samebits verify` reads.")] = None,
) -> int:
    """Does a row's result depend on the batch it is in?

    Exit status: 0 holds, 1 drift (rounding, amplified or not), 2 leak or nondeterministic, 3 could not run.
    """
    kinds = checked(across) if across is not None else ()
    loaded = load(target, batch, rows, per_example)
    out = Console()
    try:
        report = _shown(loaded, loaded.fn, "")
    except AuditInterrupted as e:
        if e.report is not None:  # what is known so far
            out.print(e.report)
            _save(e.report, {}, json_to, html_to)
        Console(stderr=True).print("interrupted")
        return INTERRUPTED
    out.print(report)
    more: dict[str, Any] = {}
    if fix:
        fixed = _fix.run(loaded, report, lambda fn, one: _shown(replace(loaded, per_example=one), fn, "trying: "))
        out.print()
        out.print(fixed)
        report = replace(report, advice=fixed.advice)
    if kinds:
        arguments = (target, batch or "", "" if rows is None else str(rows), "1" if loaded.per_example else "0")
        elsewhere = run_across(kinds, arguments, _elsewhere)
        out.print()
        out.print(elsewhere)
        more["across"] = elsewhere.to_dict()
    _save(report, more, json_to, html_to)
    if certificate:
        path = Path(target if Path(target).exists() else target.rpartition(":")[0])
        try:
            certify(loaded, report, path, batch).write(certificate)
        except OSError as e:
            raise _cannot_write(certificate, e) from e
    return STATUS[report.verdict]


def _elsewhere(name: str) -> None:
    Console(stderr=True).print(f"elsewhere: {name}", style="dim")


def _shown(target: Target, fn: Any, label: str) -> Report:
    """An audit with its progress on stderr, where that is a terminal."""
    console = Console(stderr=True)
    if not console.is_terminal:
        return audit(fn, target.batch, target.per_example)
    columns = (BarColumn(20), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task(f"{label}starting", total=1.0)

        def say(done: float, text: str) -> None:
            progress.update(task, completed=done, description=f"{label}{text}")

        return audit(fn, target.batch, target.per_example, progress=say)


def _save(report: Report, more: dict[str, Any], json_to: Path | None, html_to: Path | None) -> None:
    """Writes what was asked for; `more` is what the JSON has beside the report."""
    if json_to:
        try:
            json_to.write_text(json.dumps({**report.to_dict(), **more}, indent=1, allow_nan=False) + "\n")
        except OSError as e:
            raise _cannot_write(json_to, e) from e
    if html_to:
        try:
            report.save_html(html_to)
        except OSError as e:
            raise _cannot_write(html_to, e) from e


def _cannot_write(path: Path, e: OSError) -> UsageError:
    return UsageError(f"cannot write {path}: {e.strerror}\n  way out: name a file in a folder that exists")
