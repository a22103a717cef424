"""`samebits demo`: the three programs that started this project, stock and invariant, measured on this machine."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from io import StringIO
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from samebits.cli._load import UsageError

NEEDED = ("jax", "equinox", "diffrax")
SECTIONS = ("_demo_mlp", "_demo_ode", "_demo_order")
DEFAULT = Path("samebits-demo.html")
WIDTH = 110
"""Of the page, in characters; a terminal has its own."""


def command(
    html: Annotated[Path, typer.Option(metavar="F", help="Where to write the page that shows the same.")] = DEFAULT,
) -> int:
    """Run the programs that started this project, stock and invariant (under two minutes)."""
    missing = [name for name in NEEDED if find_spec(name) is None]
    if missing:
        raise UsageError(
            f"samebits demo runs programs written with {', '.join(NEEDED)}; not installed here: {', '.join(missing)}\n"
            "  way out: pip install 'samebits[demo]', or make demo in a clone of the repository"
        )
    if not html.absolute().parent.is_dir():  # seen now rather than after a minute
        raise UsageError(f"cannot write {html}: no such folder\n  way out: name a file in a folder that exists")
    started = time.perf_counter()
    with _progress() as say:
        sections = [import_module(f"samebits.cli.{name}").run(say) for name in SECTIONS]
    seconds = time.perf_counter() - started
    console, page = Console(), Console(record=True, width=WIDTH, file=StringIO())
    for shown in (*sections, f"\nMeasured in {seconds:.0f} s on this machine; `samebits doctor` describes it."):
        console.print(shown)
        page.print(shown)
    try:
        page.save_html(str(html))
    except OSError as e:
        raise UsageError(f"cannot write {html}: {e.strerror}\n  way out: name another file with --html") from e
    console.print(f"The same as a page: {html}")
    return 0


@contextmanager
def _progress() -> Iterator[Callable[[str], None]]:
    """A function that shows on stderr what is being done: one live line, or a line each where it is no terminal."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda doing: console.print(f"... {doing}")
        return
    columns = SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn()
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("starting JAX", total=None)
        yield lambda doing: progress.update(task, description=doing)
