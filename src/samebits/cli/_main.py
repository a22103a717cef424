"""The command line: one file a command, and exit status 3 for whatever could not run."""

import io
import sys
from collections.abc import Sequence

import typer
import typer.main
from rich.console import Console
from rich.text import Text

from samebits._errors import SamebitsError, UncoveredOperation
from samebits.cli import _audit, _demo, _doctor, _verify
from samebits.cli._audit import INTERRUPTED
from samebits.cli._load import UsageError
from samebits.report._visible import visible

COULD_NOT_RUN = 3

app = typer.Typer(
    add_completion=False,
    pretty_exceptions_enable=False,
    help="The same input gives the same bits, whatever the batch.",
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("audit")(_audit.command)
app.command("demo")(_demo.command)
app.command("doctor")(_doctor.command)
app.command("verify")(_verify.command)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command and returns the exit status: its own, 3 where it could not run, 130 after Ctrl-C."""
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # what the terminal's encoding lacks is written as an escape
            stream.reconfigure(errors="backslashreplace")
    if not arguments:
        main(["--help"])
        return COULD_NOT_RUN
    try:
        status = typer.main.get_command(app).main(args=arguments, prog_name="samebits", standalone_mode=False)
    except (UsageError, SamebitsError, UncoveredOperation) as e:
        return _fail(str(e))
    except (KeyboardInterrupt, typer.Abort):
        return _fail("interrupted", INTERRUPTED)
    except Exception as e:
        wrong = getattr(e, "format_message", None)  # an option or argument, in the class of click or of typer's own
        if wrong is not None:
            command = f" {arguments[0]}" if arguments[0] in ("audit", "demo", "doctor", "verify") else ""
            return _fail(f"{wrong()}\n  way out: samebits{command} --help")
        return _fail(
            f"samebits itself failed: {type(e).__name__}: {e}\n"
            "  way out: please report it with the command, its file and the output of samebits doctor"
        )
    return status if isinstance(status, int) else 0


def _fail(message: str, status: int = COULD_NOT_RUN) -> int:
    Console(stderr=True, soft_wrap=True, highlight=False).print(
        Text.assemble(("error: ", "bold red"), visible(message))
    )
    return status
