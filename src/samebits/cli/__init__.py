"""The command `samebits`."""

from samebits.cli._main import main as main
