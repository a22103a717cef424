"""A case: what two sides are asked, and where their results go."""

from collections.abc import Callable
from dataclasses import dataclass

from numpy.typing import NDArray

from dev.fuzz.host import Executor


@dataclass
class Trial:
    """One case: `ours` and `theirs` are called with an output buffer (and an executor) and return a status."""

    text: str
    out: NDArray
    ours: Callable[[NDArray, Executor | None], int]
    theirs: Callable[[NDArray], int]
