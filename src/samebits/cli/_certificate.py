"""A certificate: what an audit said, of which file, where, and the digests of all bits that came out."""

import hashlib
import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import get_args

import numpy as np

import samebits
from samebits import order
from samebits._frontends import Form, Frontend, Mode, NotTraceable, loaded
from samebits.cli import _doctor
from samebits.cli._load import Target, UsageError
from samebits.report import Report, Verdict

FORMAT = 1
SIZES = (1, 7, 33)
"""Batch sizes whose bits are kept, beside the whole batch's."""

_MACHINE = ("python", "platform", "cpu", "cpu flags", "instruction sets", "threads", "environment")


@dataclass(frozen=True)
class Certificate:
    """Everything that `samebits verify` compares.

    source: the digest of FILE.py. outputs: for each batch size the digest of each output, its dtype and shape in front.
    """

    file: str
    name: str
    batch: str | None
    rows: int
    per_example: bool
    source: str
    verdict: str
    contract: int
    versions: dict[str, str]
    machine: dict[str, str]
    inputs: str
    outputs: dict[str, dict[str, str]]
    format: int = field(default=FORMAT)

    def write(self, path: Path) -> None:
        """Raises OSError."""
        data = {**asdict(self), "file": _relative(Path(self.file), path.parent)}
        path.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")


def certify(target: Target, report: Report, path: Path, batch: str | None) -> Certificate:
    """The certificate of an audit of path's function."""
    machine = {name: value for name, value in _doctor.lines() if name in _MACHINE}
    inputs, outputs = digests(target, report)
    return Certificate(
        str(path.resolve()), target.name, batch, report.rows, target.per_example, _digest(path.read_bytes()),
        report.verdict, order.VERSION, {"samebits": samebits.__version__, **report.versions}, machine, inputs, outputs,
    )  # fmt: skip


def digests(target: Target, report: Report) -> tuple[str, dict[str, dict[str, str]]]:
    """Of the batch, and of the outputs at each size; a size that the function does not take is left out."""
    frontend = next(f for f in loaded() if f.name == report.framework)
    return digests_of(target, frontend, "jit" if report.mode == "jit" else "eager")


def digests_of(target: Target, frontend: Frontend, mode: Mode) -> tuple[str, dict[str, dict[str, str]]]:
    """The same without a report."""
    batch = frontend.flatten(target.batch)
    form: Form = "mapped" if target.per_example else "batch"
    run = frontend.runner(target.fn, batch, form, mode)
    found: dict[str, dict[str, str]] = {}
    error: Exception | None = None
    for n in [n for n in SIZES if n < batch.rows] + [batch.rows]:
        try:
            out = run(tuple(a[:n] for a in batch.leaves))
        except NotTraceable:
            raise
        except Exception as e:
            error = e
            continue
        found[str(n)] = {name or "output": _array(a) for name, a in zip(out.names, out.leaves, strict=True)}
    if error is not None and not found:
        raise error
    return _digest(*(_array(a).encode() for a in batch.leaves)), found


def read(path: Path) -> Certificate:
    """Raises UsageError for a file that is no certificate of this format."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as e:
        reason = e.strerror if isinstance(e, OSError) else "it is no text"
        raise UsageError(f"cannot read {path}: {reason}\n  way out: samebits audit FILE.py --certificate {path}") from e
    try:
        data = json.loads(text)
        certificate = Certificate(**data)
        _check(certificate)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as e:
        raise UsageError(
            f"{path} is no certificate of format {FORMAT}: {str(e)[:160]}\n"
            f"  way out: samebits audit FILE.py --certificate {path} writes one"
        ) from e
    return certificate


def _check(c: Certificate) -> None:
    if c.format != FORMAT:
        raise ValueError(f"its format is {c.format!r}")
    texts = dict.fromkeys(("file", "name", "source", "verdict", "inputs"), str)
    tables = dict.fromkeys(("versions", "machine", "outputs"), dict)
    kinds: dict[str, type] = {**texts, **tables, "rows": int, "contract": int, "per_example": bool}
    for name, kind in kinds.items():
        if type(getattr(c, name)) is not kind:
            raise ValueError(f"{name} is {getattr(c, name)!r}, no {kind.__name__}")
    if c.verdict not in get_args(Verdict):
        raise ValueError(f"verdict is {c.verdict!r}")
    for name, table in (("versions", c.versions), ("machine", c.machine), *c.outputs.items()):
        if not isinstance(table, dict) or not all(isinstance(v, str) for v in table.values()):
            raise ValueError(f"{name} is no table of texts")
    if c.batch is not None and not isinstance(c.batch, str):
        raise ValueError(f"batch is {c.batch!r}, no name")


def _relative(file: Path, folder: Path) -> str:
    """A path as seen from the certificate's folder, so that both can move together."""
    try:
        return file.relative_to(folder.resolve()).as_posix()
    except ValueError:
        return str(file)


def _array(a: np.ndarray) -> str:
    return f"{a.dtype}{list(a.shape)} {_digest(np.ascontiguousarray(a).tobytes())}"


def _digest(*parts: bytes) -> str:
    total = hashlib.sha256()
    for part in parts:
        total.update(part)
    return total.hexdigest()[:32]
