"""From a pair of runs that differ to the line of source where the difference begins."""

import functools
import inspect
import linecache
import sysconfig
from pathlib import Path
from typing import Any

import numpy as np

from samebits._audit._trial import Pair, Trial
from samebits._frontends import Call, Frame, Place
from samebits.report import Finding

# Rows compared in the walk: enough that one of them shows what a few rows may not.
ROWS = 64

_PACKAGE = str(Path(__file__).resolve().parents[1])
_LIBRARIES = tuple({str(Path(sysconfig.get_path(k)).resolve()) for k in ("stdlib", "purelib", "platlib")})
_COMPILERS = ("/jax/", "/jaxlib/")


def locate(trial: Trial, pairs: list[Pair], axis: str) -> tuple[Finding | None, str | None]:
    """The finding for the first pair that the frontend's walk can explain, and a note where there is none."""
    note = None
    for pair in pairs:
        left, right = narrow(pair)
        try:
            place = trial.frontend.locate(trial.fn, trial.batch, trial.per_example, left, right)
        except Exception as e:
            reason = (str(e).strip().splitlines() or [""])[0][:160]
            note = f"the search for the first diverging operation stopped: {type(e).__name__}: {reason}"
            continue
        if place is not None:
            return finding(place, source_file(trial.fn), axis), None
    return None, note or "operation by operation nothing diverges: the difference comes from how the whole is compiled"


def narrow(pair: Pair) -> tuple[Call, Call]:
    """The calls of a pair on at most ROWS of the rows compared, those that differ first."""
    if pair.left.alone or pair.right.alone:
        return pair.left, pair.right
    some = np.argsort(~pair.comparison.differs, kind="stable")[:ROWS]
    return tuple(Call(c.leaves, c.rows[some], c.alone) for c in (pair.left, pair.right))  # type: ignore[return-value]


def finding(place: Place, file: str | None, axis: str) -> Finding:
    user = user_frame(place.frames, file)
    library = library_frame(place.frames, user)
    return Finding(
        operation=place.operation,
        file=user and user.file, line=user and user.line, function=user and user.function,
        source=linecache.getline(user.file, user.line).rstrip() if user else "",
        library_file=library and library.file, library_line=library and library.line,
        library_function=library and library.function,
        axis=axis, how=place.how, rows=place.rows, shape=place.shape,
    )  # fmt: skip


def user_frame(frames: tuple[Frame, ...], file: str | None) -> Frame | None:
    """The innermost line in the file that defines fn; else the innermost outside libraries; else the innermost."""
    own = [f for f in frames if file and f.file == file]
    outside = [f for f in frames if not _is_library(f.file)]
    foreign = [f for f in frames if not _is_ours(f.file) and not _is_compiler(f.file)]
    return next(iter(own or outside or foreign), None)


def library_frame(frames: tuple[Frame, ...], user: Frame | None) -> Frame | None:
    """The innermost line below the user's that is neither his nor the framework's own."""
    below = frames[: frames.index(user)] if user in frames else frames
    return next((f for f in below if not _is_compiler(f.file) and not _is_ours(f.file)), None)


def _is_library(file: str) -> bool:
    return file.startswith("<") or _is_ours(file) or str(Path(file).resolve()).startswith(_LIBRARIES)


def _is_ours(file: str) -> bool:
    return file.startswith(_PACKAGE)


def _is_compiler(file: str) -> bool:
    return any(part in file for part in _COMPILERS) and "site-packages" in file


def source_file(fn: Any) -> str | None:
    """The file that defines a function, through partials, wrappers and callable objects."""
    while isinstance(fn, functools.partial):
        fn = fn.func
    fn = inspect.unwrap(fn) if callable(fn) else fn
    for candidate in (fn, type(fn)):
        try:
            return inspect.getsourcefile(candidate)
        except TypeError:
            continue
    return None
