"""`samebits verify CERTIFICATE.json`: the audit of a certificate again, here, and what has changed."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from samebits._audit import audit
from samebits.cli._certificate import Certificate, certify, read
from samebits.cli._load import UsageError, load
from samebits.report import SEVERITY
from samebits.report._visible import visible

SAME, CHANGED, WORSE = 0, 1, 2


def command(
    certificate: Annotated[Path, typer.Argument(metavar="CERTIFICATE.json", help="Of samebits audit --certificate.")],
    file: Annotated[Path | None, typer.Option(metavar="FILE.py", help="The program, if it has moved.")] = None,
) -> int:
    """Has anything changed since a certificate was written?

    Exit status: 0 the same bits and verdict, 1 other bits, 2 a worse verdict, 3 could not run.
    """
    before = read(certificate)
    path = file or certificate.parent / before.file
    target = load(f"{path}:{before.name}", before.batch, None if before.batch else before.rows, before.per_example)
    report = audit(target.fn, target.batch, target.per_example)
    if report.rows != before.rows:
        raise UsageError(
            f"{path} gave a batch of {report.rows} rows, and the certificate is of {before.rows}\n"
            "  way out: write a new certificate"
        )
    after = certify(target, report, path, before.batch)
    changes = list(_changes(before, after))
    status = _status(before, after)
    out = Console(highlight=False)
    words = {SAME: "the same bits and verdict", CHANGED: "other bits", WORSE: "a worse verdict"}[status]
    out.print(
        Text.assemble((words, "bold green" if status == SAME else "bold red"), visible(f": {path}:{before.name}"))
    )
    if changes:
        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
        for name in ("changed", "then", "now"):
            table.add_column(name, overflow="fold")
        for row in changes:
            table.add_row(*map(Text, visible(row)))
        out.print(table)
    return status


def _status(before: Certificate, after: Certificate) -> int:
    if SEVERITY[after.verdict] > SEVERITY[before.verdict]:
        return WORSE
    return SAME if (before.outputs, before.verdict) == (after.outputs, after.verdict) else CHANGED


def _changes(before: Certificate, after: Certificate) -> Iterator[tuple[str, str, str]]:
    """(what, then, now) of everything that differs, causes before effects."""
    if before.source != after.source:
        yield "the program's source", before.source[:12], after.source[:12]
    if before.contract != after.contract:
        yield "order contract", str(before.contract), str(after.contract)
    for kind in ("versions", "machine"):
        a, b = getattr(before, kind), getattr(after, kind)
        for name in sorted({*a, *b}):
            if a.get(name) != b.get(name):
                yield name, str(a.get(name, "not there")), str(b.get(name, "not there"))
    if before.inputs != after.inputs:
        yield "the batch", before.inputs[:12], after.inputs[:12]
    for size in sorted({*before.outputs, *after.outputs}, key=lambda s: (len(s), s)):
        a, b = before.outputs.get(size, {}), after.outputs.get(size, {})
        for name in sorted({*a, *b}):
            if a.get(name) != b.get(name):
                yield f"{name} at {size} rows", _short(a.get(name)), _short(b.get(name))
    if before.verdict != after.verdict:
        yield "verdict", before.verdict, after.verdict


def _short(digest: str | None) -> str:
    """ "float32[7, 10] 3f2a..." with the first digits of the digest."""
    if digest is None:
        return "not there"
    head, _, words = str(digest).rpartition(" ")
    return f"{head} {words[:12]}"
