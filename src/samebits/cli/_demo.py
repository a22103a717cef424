"""`samebits demo`: the three programs that started this project, stock and invariant, measured on this machine."""

import time
from importlib import import_module
from importlib.util import find_spec
from io import StringIO
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

NEEDED = ("jax", "equinox", "diffrax")
SECTIONS = ("_demo_mlp", "_demo_ode", "_demo_order")
WIDTH = 110
"""Of the page, in characters; a terminal has its own."""
DEFAULT = Path("samebits-demo.html")


def demo(
    html: Annotated[Path, typer.Option(help="Where to write the page that shows the same.")] = DEFAULT,
) -> None:
    """Run the programs that started this project, stock and invariant (under two minutes)."""
    errors = Console(stderr=True)
    if missing := [name for name in NEEDED if find_spec(name) is None]:
        verb = "is" if len(missing) == 1 else "are"
        errors.print(f"samebits demo needs {' and '.join(missing)}, which {verb} not installed here; the programs that")
        errors.print("it runs are written with them. Way out: pip install 'samebits\\[demo]', or make demo in a clone.")
        raise typer.Exit(3)
    started = time.perf_counter()
    console, page = Console(), Console(record=True, width=WIDTH, file=StringIO())
    columns = SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn()
    with Progress(*columns, console=errors, transient=True, disable=not errors.is_terminal) as progress:
        task = progress.add_task("starting JAX", total=None)

        def say(doing: str) -> None:
            progress.update(task, description=doing)
            if not errors.is_terminal:
                errors.print(f"  {doing} ...")

        sections = []
        for number, name in enumerate(SECTIONS, 1):
            section = import_module(f"samebits.cli.{name}")
            say(f"{number} of {len(SECTIONS)}: {section.TITLE}")
            sections.append(section.run(lambda doing, n=number: say(f"{n} of {len(SECTIONS)}: {doing}")))
    seconds = time.perf_counter() - started
    for shown in (*sections, f"\nMeasured in {seconds:.0f} s on this machine; `samebits doctor` describes it."):
        console.print(shown)
        page.print(shown)
    try:
        page.save_html(str(html))
    except OSError as error:
        errors.print(f"samebits demo could not write {html}: {error.strerror}; name another place with --html FILE")
        raise typer.Exit(3) from None
    errors.print(f"The same as a page: {html}")
