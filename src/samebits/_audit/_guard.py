"""Calls of the user's function that cannot take the audit down: what it prints, and where it leaves the process."""

import contextlib
import io
from collections.abc import Iterator


class Left(Exception):
    """The user's function called sys.exit, or raised another exception that no caller is meant to catch."""


class Guard:
    """Keeps what the user's function prints, and turns its exits into exceptions; Ctrl-C passes."""

    def __init__(self) -> None:
        self._said = _Lines()

    @contextlib.contextmanager
    def __call__(self) -> Iterator[None]:
        try:
            with contextlib.redirect_stdout(self._said):
                yield
        except (Exception, KeyboardInterrupt):
            raise
        except SystemExit as e:
            raise Left(f"called sys.exit({e.code if e.code is not None else ''})") from e
        except BaseException as e:
            raise Left(f"raised {type(e).__name__}, which is no Exception: {e}") from e

    def note(self) -> str | None:
        """What was printed, in a sentence."""
        if not self._said.first:
            return None
        lines = "a line" if self._said.count <= 1 else f"{self._said.count} lines"
        return f"it prints; {lines} over all calls were kept back, the first of them: {self._said.first[:120]}"


class _Lines(io.TextIOBase):
    """A stream that counts lines and keeps the first."""

    def __init__(self) -> None:
        self.count, self.head = 0, ""

    @property
    def first(self) -> str:
        return self.head.strip().splitlines()[0] if self.head.strip() else ""

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        if "\n" not in self.head.lstrip():
            self.head = (self.head + text)[:500]
        self.count += text.count("\n")
        return len(text)
