"""PyTorch's side of the audit: tensors in and out, single calls and vmap, and where two runs part."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import metadata
from typing import Any

import numpy as np
import torch

from samebits._audit._errors import AuditError, describe, name_of
from samebits._frontends import (
    Batch,
    Call,
    Form,
    Mode,
    NotTraceable,
    Outputs,
    Place,
    Remedy,
    Stage,
    looks_like_torch,
)  # fmt: skip
from samebits.torch import _float64, _lockstep, _profile, _remedies
from samebits.torch._arrays import to_host, to_tensor
from samebits.torch._constants import closed_over, replaced
from samebits.torch._trees import leaves, rebuild


class TorchFrontend:
    """samebits._frontends.Frontend for PyTorch. Calls run in the gradient mode that the caller is in."""

    name = "torch"
    compiles = False

    def owns(self, fn: Any, batch: Any) -> bool:
        return callable(fn) and looks_like_torch(fn, batch)

    def flatten(self, batch: Any) -> Batch:
        named = list(leaves(batch))
        for name, leaf in named:
            if not isinstance(leaf, (torch.Tensor, np.ndarray)) or getattr(leaf.dtype, "kind", "f") not in "biufcV":
                raise AuditError(
                    f"leaf {name or 'x'} of the batch is no tensor but {type(leaf).__name__}: {describe(leaf)}\n"
                    "  way out: tensors with one row per example only; close over settings (lambda x: fn(x, setting))"
                )
        if not named:
            raise AuditError("the batch holds no tensors\n  way out: pass a tensor with one row per example")
        arrays = [to_host(x) if isinstance(x, torch.Tensor) else np.asarray(x) for _, x in named]
        _check_rows(arrays, [name or "x" for name, _ in named])

        def unflatten(new: Sequence[Any]) -> Any:
            rest = iter(new)

            def one(leaf: Any) -> Any:
                t = next(rest)
                return t if isinstance(leaf, torch.Tensor) else to_host(t)

            return rebuild(batch, one)

        likes = tuple(x if isinstance(x, torch.Tensor) else None for _, x in named)
        return TorchBatch(tuple(arrays), tuple(name or "x" for name, _ in named), unflatten, likes=likes)

    def runner(self, fn: Any, batch: Batch, form: Form, mode: Mode) -> Callable[[Sequence[np.ndarray]], Outputs]:
        call = flat_call(fn, batch, form)

        def run(arrays: Sequence[np.ndarray]) -> Outputs:
            return outputs(fn, call(*tensors(batch, arrays)))

        return run

    def with_constants(
        self, fn: Any, batch: Batch, form: Form, move: Callable[[np.ndarray], np.ndarray]
    ) -> Callable[[Sequence[np.ndarray]], Outputs]:
        run = self.runner(fn, batch, form, "eager")

        def moved(t: torch.Tensor) -> torch.Tensor:
            return to_tensor(move(to_host(t))).to(t.device)

        def with_moved(arrays: Sequence[np.ndarray]) -> Outputs:
            with replaced([t for t in closed_over(fn) if t.is_floating_point()], moved):
                return run(arrays)

        return with_moved

    def in_float64(self, fn: Any, batch: Batch, form: Form) -> Callable[[Sequence[np.ndarray]], Outputs]:
        call = flat_call(fn, batch, form)

        def run(arrays: Sequence[np.ndarray]) -> Outputs:
            wide = [_float64.wide(t) for t in tensors(batch, arrays)]
            try:
                with _float64.everywhere(closed_over(fn)):
                    return outputs(fn, call(*wide))
            except AuditError:
                raise
            except Exception as e:  # what meets a narrower float that is not widened
                raise NotTraceable(f"cannot be run in float64: {(str(e) or repr(e)).splitlines()[0]}") from e

        return run

    def timer(self, fn: Any, batch: Batch, form: Form, mode: Mode) -> Callable[[], None]:
        call, arrays = flat_call(fn, batch, form), tensors(batch, batch.leaves)

        def run() -> None:
            call(*arrays)

        return run

    def locate(self, fn: Any, batch: Batch, mapped: bool, left: Call, right: Call) -> Place | None:
        return _lockstep.walk(self._call, fn, batch, mapped, left, right).place()

    def cut(self, fn: Any, batch: Batch, mapped: bool, left: Call, right: Call) -> Place | None:
        return None  # nothing is fused here

    def profile(self, fn: Any, batch: Batch, mapped: bool, left: Call, right: Call) -> Sequence[Stage]:
        return _profile.once(_lockstep.walk(self._call, fn, batch, mapped, left, right).stages)

    def remedies(self, fn: Any, batch: Batch, form: Form) -> Sequence[Remedy]:
        return _remedies.remedies(fn, form)

    def invariant(self, fn: Any) -> Any:
        raise AuditError(
            f"there is no invariant({name_of(fn)}) for PyTorch yet\n"
            "  way out: one row at a time, or tiles of a fixed number of rows, both of which --fix tries"
        )

    def versions(self) -> dict[str, str]:
        return {"torch": metadata.version("torch"), "threads": str(torch.get_num_threads())}

    @staticmethod
    def _call(fn: Any, batch: Batch, mapped: bool, one: Call) -> Callable[[], list[torch.Tensor]]:
        """The call of one side, on fresh tensors."""
        form: Form = "alone" if one.alone else "mapped" if mapped else "batch"
        call, arrays = flat_call(fn, batch, form), tensors(batch, one.leaves)
        return lambda: [x for _, x in leaves(call(*arrays)) if isinstance(x, torch.Tensor)]


@dataclass(frozen=True)
class TorchBatch(Batch):
    """A batch that knows its tensors' devices and whether they want gradients."""

    likes: tuple[torch.Tensor | None, ...] = ()


frontend = TorchFrontend()


def tensors(batch: Batch, arrays: Sequence[np.ndarray]) -> list[torch.Tensor]:
    """New tensors, so that a function which changes its argument changes nothing else."""
    likes = getattr(batch, "likes", (None,) * len(arrays))
    return [to_tensor(a, like) for a, like in zip(arrays, likes, strict=True)]


def flat_call(fn: Any, batch: Batch, form: Form) -> Callable[..., Any]:
    """fn as a function of the tensors of a batch (or, for the form "alone", of one row)."""

    def call(*flat: torch.Tensor) -> Any:
        return fn(batch.unflatten(flat))

    def mapped(*flat: torch.Tensor) -> Any:
        try:
            return torch.func.vmap(call, randomness="different")(*flat)
        except RuntimeError as e:
            if "vmap" not in str(e):
                raise
            raise AuditError(
                f"torch.func.vmap cannot map {name_of(fn)} over rows: {str(e).strip().splitlines()[0][:160]}\n"
                "  way out: audit a function of the whole batch, which may be a loop over rows"
            ) from e

    def loop(*flat: torch.Tensor) -> Any:
        rows = [call(*(t[i] for t in flat)) for i in range(len(flat[0]))]
        columns = zip(*([x for _, x in leaves(row)] for row in rows), strict=True)
        stacked = iter([torch.stack(list(column)) for column in columns])
        return rebuild(rows[0], lambda _: next(stacked))

    return {"batch": call, "alone": call, "mapped": mapped, "loop": loop}[form]


def outputs(fn: Any, out: Any) -> Outputs:
    """What a call gave, on the host."""
    named = list(leaves(out))
    for name, x in named:
        if not isinstance(x, (torch.Tensor, np.ndarray)) and not isinstance(x, (bool, int, float, complex)):
            raise AuditError(
                f"{name_of(fn)} returned {type(x).__module__}.{type(x).__name__}{f' at {name}' if name else ''}: "
                f"{describe(x)}\n  way out: return tensors"
            )
    if not named:
        raise AuditError(
            f"{name_of(fn)} returned no tensors: {describe(out)}\n  way out: return what is to be compared"
        )
    return Outputs(
        tuple(to_host(x) if isinstance(x, torch.Tensor) else np.array(x) for _, x in named),
        tuple(name for name, _ in named),
    )


def _check_rows(arrays: list[np.ndarray], names: list[str]) -> None:
    shown = ", ".join(f"{n}: {a.dtype}{list(a.shape)}" for n, a in zip(names, arrays, strict=True))
    if any(a.ndim == 0 for a in arrays) or len({len(a) for a in arrays}) > 1:
        raise AuditError(
            f"leaves without a common leading axis: {shown}\n"
            "  way out: give each leaf the same number of rows along its first axis, or close over those without"
        )
    if len(arrays[0]) < 2:
        what = "is empty" if len(arrays[0]) == 0 else "has one row, and nothing to compare it with"
        raise AuditError(f"the batch {what} ({shown})\n  way out: pass at least 2 rows, better 64 or more")
