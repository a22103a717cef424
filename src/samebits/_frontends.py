"""Which framework a function and its batch belong to, and what the audit asks of a framework.

A frontend is looked up through sys.modules: a framework that the user has not imported cannot own his function, and
is never imported here. The audit itself works on NumPy arrays; all that it needs of a framework is in `Frontend`.
"""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, Literal, Protocol

import numpy as np

Form = Literal["batch", "mapped", "alone", "loop"]
"""How fn is called: on a whole batch; mapped over rows; on one row; in a loop over rows inside one program."""

Mode = Literal["jit", "eager"]


@dataclass(frozen=True)
class Batch:
    """A batch as host arrays, rows in front, and the way back to what the user passed.

    `unflatten` takes one array of the framework for each leaf (with or without the row axis). Leaves named in
    `opaque` hold bits that only make sense as a whole row (random keys).
    """

    leaves: tuple[np.ndarray, ...]
    names: tuple[str, ...]
    unflatten: Callable[[Sequence[Any]], Any]
    opaque: frozenset[int] = frozenset()
    notes: tuple[str, ...] = ()

    @property
    def rows(self) -> int:
        return self.leaves[0].shape[0]


@dataclass(frozen=True)
class Outputs:
    """What one call gave: host arrays and their names (`names[i]` is "" for a function with a single output)."""

    leaves: tuple[np.ndarray, ...]
    names: tuple[str, ...]


@dataclass(frozen=True)
class Call:
    """One side of a comparison: the leaves of a batch, and which of its rows are compared (alone: the only row)."""

    leaves: tuple[np.ndarray, ...]
    rows: np.ndarray
    alone: bool = False


@dataclass(frozen=True)
class Frame:
    """One line of source."""

    file: str
    line: int
    function: str


@dataclass(frozen=True)
class Place:
    """The first operation whose inputs agree bit for bit on the rows compared, and whose outputs do not.

    `frames` runs from the innermost call outwards; `how` says how it was found ("lockstep").
    """

    operation: str
    frames: tuple[Frame, ...]
    how: str
    rows: int = 0
    shape: str = ""
    notes: tuple[str, ...] = field(default=())


@dataclass(frozen=True)
class Stage:
    """One operation as both of two calls met it, on the rows compared: what a profile is made of.

    rows: how many differ after it; before: how many differed in its inputs. ulp, row_scaled: the largest difference
    after it; row_scaled_before: in its inputs. choice: "branch", "steps" or "tie" where the two calls chose otherwise,
    and detail how ("14 against 162 iterations").
    """

    operation: str
    frames: tuple[Frame, ...]
    shape: str
    before: int
    rows: int
    ulp: int | None
    row_scaled_before: float
    row_scaled: float
    choice: Literal["", "branch", "steps", "tie"] = ""
    detail: str = ""


@dataclass(frozen=True)
class Bound:
    """How far two orders of summation can be apart at most, and how far an operation's two results were.

    The operation met the same operands, bit for bit, in both calls. `ratio` is the largest quotient of difference and
    bound over the entries compared: at most 1 where the order of summation explains it all. difference and bound are
    those of the entry where the ratio is largest; terms: how many products or terms are added; unit: the unit roundoff.
    """

    operation: str
    terms: int
    unit: float
    difference: float
    bound: float
    ratio: float


@dataclass(frozen=True)
class Remedy:
    """Something to try against a difference: `make` returns the changed function, or raises why there is none.

    code: what a user would write. promise: "by construction", or "measured" where only an audit can tell. form: how the
    changed function is called, where that is another way than fn is.
    """

    name: str
    code: str
    promise: Literal["by construction", "measured"]
    make: Callable[[], Any]
    form: Form | None = None
    notes: tuple[str, ...] = ()


class NotTraceable(Exception):
    """The framework cannot compile this function (it looks at values); it can still be run eagerly."""


class Frontend(Protocol):
    """What the audit asks of a framework. `compiles`: whether there is a mode "jit" beside "eager"."""

    name: str
    compiles: bool

    def owns(self, fn: Any, batch: Any) -> bool:
        """Whether this framework runs fn on batch."""
        ...

    def flatten(self, batch: Any) -> Batch:
        """The batch as host arrays. Raises AuditError for leaves that are no arrays or have no common leading axis."""
        ...

    def runner(self, fn: Any, batch: Batch, form: Form, mode: Mode) -> Callable[[Sequence[np.ndarray]], Outputs]:
        """A callable from host leaves to host outputs; NotTraceable at the first call where mode "jit" cannot be."""
        ...

    def with_constants(
        self, fn: Any, batch: Batch, form: Form, move: Callable[[np.ndarray], np.ndarray]
    ) -> Callable[[Sequence[np.ndarray]], Outputs]:
        """A runner in which each float array that fn closes over (weights, say) has gone through `move`."""
        ...

    def timer(self, fn: Any, batch: Batch, form: Form, mode: Mode) -> Callable[[], None]:
        """A callable that runs fn on the batch once and waits for the result; arguments are on the device already."""
        ...

    def locate(self, fn: Any, batch: Batch, mapped: bool, left: Call, right: Call) -> Place | None:
        """Where two calls part, or None where the walk finds no such operation."""
        ...

    def bound(self, fn: Any, batch: Batch, mapped: bool, left: Call, right: Call) -> Bound | None:
        """The rigorous bound for the operation that `locate` finds; None where it is no sum or product of sums."""
        ...

    def cut(self, fn: Any, batch: Batch, mapped: bool, left: Call, right: Call) -> Place | None:
        """As `locate`, by cutting the compiled program after ever fewer operations: it sees what a fusion causes.

        None where cuts show no difference, or this framework has no such search.
        """
        ...

    def profile(self, fn: Any, batch: Batch, mapped: bool, left: Call, right: Call) -> Sequence[Stage]:
        """The operations of fn in the order in which they run, a loop's body once with its worst; () if unknown."""
        ...

    def in_float64(self, fn: Any, batch: Batch, form: Form) -> Callable[[Sequence[np.ndarray]], Outputs]:
        """A runner that computes in float64 what fn computes in narrower floats, what it closes over too.

        Raises NotTraceable where fn cannot be run so.
        """
        ...

    def remedies(self, fn: Any, batch: Batch, form: Form) -> Sequence[Remedy]:
        """What may make fn hold, the least intrusive first."""
        ...

    def invariant(self, fn: Any) -> Any:
        """fn, rewritten so that its bits do not depend on the batch. Raises UncoveredOperation, or AuditError."""
        ...

    def versions(self) -> dict[str, str]:
        """Names and versions that the bits may depend on."""
        ...


# The framework's own module, and the module of samebits that has `frontend`, a Frontend.
_known = {"jax": "samebits.jax._frontend", "torch": "samebits.torch._frontend"}


def loaded() -> list[Frontend]:
    """The frontends of the frameworks that this process has imported."""
    return [import_module(ours).frontend for theirs, ours in _known.items() if theirs in sys.modules]


def looks_like_torch(fn: Any, batch: Any) -> bool:
    """Whether fn is a PyTorch module, or a leaf of batch a tensor, or a function that names torch and not jax."""
    torch = sys.modules.get("torch")
    if torch is None or not hasattr(torch, "Tensor"):
        return False
    leaves, jax = _leaves(batch), sys.modules.get("jax")
    if isinstance(fn, torch.nn.Module) or any(isinstance(x, torch.Tensor) for x in leaves):
        return True
    if jax is not None and any(isinstance(x, jax.Array) for x in leaves):
        return False
    own = getattr(fn, "__globals__", {}).values()
    return any(v is torch for v in own) and not any(v is sys.modules.get("jax", torch) for v in own if v is not torch)


def _leaves(tree: Any) -> list[Any]:
    if isinstance(tree, dict):
        return [x for v in tree.values() for x in _leaves(v)]
    if isinstance(tree, (list, tuple)):
        return [x for v in tree for x in _leaves(v)]
    return [tree]
