"""What an audit may cost: calls are timed, and each axis gets a share of the time of fifteen calls."""

import time
from collections import Counter
from collections.abc import Hashable, Iterator
from contextlib import contextmanager

import numpy as np

# Seconds of calls that are free: below, the shares would only make the audit of a fast function less thorough.
FREE = 0.75

# A verdict costs at most fifteen calls on the whole batch, compilations apart; one is for comparing results.
CALLS = 14.0

# Parts of the time in the order in which the axes run; what one leaves over goes to the next.
SHARES = {
    "start": 2.0, "size": 2.0, "position": 1.5, "content": 4.5, "single": 0.9, "eager": 0.1, "repeat": 1.0,
    "second": 3.0,
}  # fmt: skip

# Calls take now more, now less time than the one that was measured: a share holds to within this part of a call.
TOLERANCE = 0.25

# Seconds, compilations included, after which each axis makes do with its first comparisons.
MOST = 240.0


class Budget:
    """Counts and times calls. `call` is the time of one on the whole batch, None until it has been measured."""

    def __init__(self, most: float | None = None):
        self.most = MOST if most is None else most
        self.start = time.monotonic()
        self.calls = 0
        self.compilations: Counter[Hashable] = Counter()
        self.running = 0.0
        self.compiling = 0.0
        self.call: float | None = None
        self._by_rows: dict[int, float] = {}
        self._first: dict[Hashable, float] = {}
        self._axis = "start"
        self._used = 0

    @contextmanager
    def axis(self, name: str) -> Iterator[None]:
        """Calls within belong to this axis."""
        before, self._axis, self._used = self._axis, name, 0
        try:
            yield
        finally:
            self._axis = before

    def charge(self, key: Hashable, rows: int, seconds: float, fresh: bool = False) -> None:
        """One call. The first of a key (form, mode, shape) compiles, and counts as no longer than calls have taken."""
        self.calls += 1
        self._used += 1
        run = seconds
        if fresh or key not in self.compilations:
            self.compilations[key] += 1
            run = min(seconds, self.expected(rows))
            self.compiling += seconds - run
            self._first[key] = run
        else:
            if key in self._first:  # what a call takes is known better now
                excess = self._first.pop(key) - seconds
                if excess > 0:
                    self.running -= excess
                    self.compiling += excess
            self._by_rows[rows] = min(seconds, self._by_rows.get(rows, seconds))
        self.running += run

    def measured(self, rows: int) -> None:
        """The whole batch has been called twice: what a call takes is known now."""
        self.call = self._by_rows.get(rows)
        if self.call is not None:  # the first call was all compilation as far as was known
            self.running += self.call
            self.compiling = max(0.0, self.compiling - self.call)

    def expected(self, rows: int) -> float:
        """Seconds of a call on so many rows, on a line between those that have been measured."""
        if not self._by_rows:
            return self.call or 0.0
        known = sorted(self._by_rows)
        return float(np.interp(rows, known, [self._by_rows[n] for n in known]))

    def fits(self, rows: int, first: int = 1) -> bool:
        """Whether a call on so many rows is within the axis' share. Its `first` calls always are."""
        if self._used < first:
            return True
        if time.monotonic() - self.start > self.most:
            return False
        return self.running + self.expected(rows) <= self._allowed() + TOLERANCE * (self.call or 0.0)

    def _allowed(self) -> float:
        limit = max(FREE, CALLS * (self.call or 0.0))
        names = list(SHARES)
        shares = sum(SHARES[n] for n in names[: names.index(self._axis) + 1])
        return min(limit, self.most) * shares / sum(SHARES.values())

    def why(self) -> str:
        """Why something has been left out."""
        return f"a call takes {_seconds(self.call or 0.0)}, and {_seconds(time.monotonic() - self.start)} have gone by"

    def figures(self) -> dict[str, float]:
        return {
            "call": self.call or 0.0, "calls": self.calls, "running": self.running,
            "compilations": sum(self.compilations.values()), "compiling": self.compiling,
        }  # fmt: skip


def _seconds(s: float) -> str:
    return f"{s:.0f} s" if s >= 10 else f"{s:.1f} s" if s >= 1 else f"{s * 1000:.0f} ms"
