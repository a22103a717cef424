"""What `samebits audit` reads from the user's file: the function and its batch."""

import importlib.util
import inspect
import sys
import traceback
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

ROWS = 256
"""Rows asked of make_input where --rows says nothing: more than any vector or tile, and still small."""


class UsageError(Exception):
    """The command cannot run as given; str() says what, and the way out."""


@dataclass(frozen=True)
class Target:
    """A function of the user's file, whether it takes one row, and its batch."""

    name: str
    fn: Any
    per_example: bool
    batch: Any


def load(target: str, batch: str | None, rows: int | None, per_example: bool) -> Target:
    """Reads FILE.py[:NAME]. Raises UsageError for what is missing or does not run."""
    path, name = _split(target)
    if not _is_file(path):
        what = "is a folder" if path.is_dir() else "does not exist"
        raise UsageError(f"{path} {what}\n  way out: samebits audit FILE.py, or FILE.py:NAME for its function NAME")
    if rows is not None and rows < 2:
        raise UsageError(f"--rows {rows}: a batch needs at least 2 rows to compare\n  way out: --rows 64")
    module = _run(path)
    name, fn, one_row = _function(module, path, name)
    per_example = per_example or one_row
    return Target(name, fn, per_example, _batch(module, path, batch, rows))


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError) as e:  # a name that no file system takes
        raise UsageError(f"cannot read {str(path)[:80]}: {e.strerror if isinstance(e, OSError) else e}\n"
                         "  way out: samebits audit FILE.py") from e  # fmt: skip


def _split(target: str) -> tuple[Path, str | None]:
    head, colon, tail = target.rpartition(":")
    if colon and tail.isidentifier() and not _is_file(Path(target)):
        return Path(head), tail
    return Path(target), None


def _run(path: Path) -> ModuleType:
    """Imports a file under a name of its own; its folder is importable from it, as for `python FILE.py`."""
    path = path.resolve()
    name = f"samebits_audited_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise UsageError(f"{path} is not a Python file\n  way out: samebits audit FILE.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses and pickle look their module up here
    sys.path.insert(0, str(path.parent))
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as e:
        raise UsageError(raised(e, path, f"{path.name} does not run")) from e
    return module


def _function(module: ModuleType, path: Path, name: str | None) -> tuple[str, Any, bool]:
    defaults = ("fn", "single") if name is None else (name,)
    for n in defaults:
        fn = getattr(module, n, None)
        if fn is not None:
            if not callable(fn):
                what = f"{path}:{n} is not a function but {type(fn).__name__}"
                raise UsageError(f"{what}\n  way out: name a function of the batch")
            return n, fn, name is None and n == "single"
    missing = f"has no {name}" if name else "has neither fn (a function of the batch) nor single (of one row)"
    raise UsageError(f"{path} {missing}\n  way out: samebits audit {path}:NAME{_choices(module)}")


def _choices(module: ModuleType) -> str:
    own = [n for n, v in vars(module).items() if inspect.isfunction(v) and v.__module__ == module.__name__]
    return f"; it defines {', '.join(own[:8])}" if own else ""


def _batch(module: ModuleType, path: Path, name: str | None, rows: int | None) -> Any:
    value = getattr(module, name or "make_input", None)
    if value is None:
        missing = f"has no {name}" if name else "has no make_input(n)"
        raise UsageError(
            f"{path} {missing}\n  way out: define make_input(n), which returns a batch of n rows, "
            "or name a batch of the file with --batch NAME"
        )
    if not callable(value):
        return value if rows is None else _first_rows(value, rows)
    n = rows or ROWS
    try:
        return value(n)
    except Exception as e:
        raise UsageError(raised(e, path, f"{name or 'make_input'}({n}) does not run")) from e


def _first_rows(tree: Any, rows: int) -> Any:
    if isinstance(tree, dict):
        return {k: _first_rows(v, rows) for k, v in tree.items()}
    if isinstance(tree, (list, tuple)):
        parts = [_first_rows(v, rows) for v in tree]
        return type(tree)(*parts) if hasattr(tree, "_fields") else type(tree)(parts)
    try:
        return tree[:rows]
    except (TypeError, IndexError):
        return tree


def raised(e: BaseException, path: Path, what: str) -> str:
    """An exception from the user's file in two lines: what was raised, and where in that file."""
    frames = [f for f in traceback.extract_tb(e.__traceback__) if Path(f.filename) == path.resolve()]
    line = f":{frames[-1].lineno}" if frames else ""
    if isinstance(e, SyntaxError) and e.filename and Path(e.filename) == path.resolve():
        line = f":{e.lineno}"
    first = (str(e).strip().splitlines() or [""])[0]
    return f"{what}: {type(e).__name__}: {first}\n  --> {path}{line}\n  way out: python {path} must run by itself"
