"""Which row of the batch each entry of a tensor belongs to, followed from operation to operation.

Beside the memory of a tensor lies one of integers: the row's number, SHARED for what belongs to no row or to several.
So views and writes into a part of a buffer need nothing of their own. It is for what shapes do not show: chunks,
single rows, buffers that are filled piece by piece.
"""

from collections.abc import Sequence
from typing import Any

import torch

from samebits.torch import _compat

SHARED = -1

# Operations that only move the entries of their first argument.
_MOVES = frozenset(
    "cat stack index index_select gather clone repeat flip roll constant_pad_nd embedding tile take_along_dim "
    "masked_select unfold narrow_copy repeat_interleave".split()
)
# Operations that take entry by entry, and are not marked so.
_POINTWISE = frozenset("copy_ _to_copy clone masked_fill masked_fill_ dropout native_dropout".split())


class RowIds:
    """The row numbers of the tensors of one run."""

    def __init__(self) -> None:
        self.beside: dict[int, tuple[_compat.Memory, int, torch.Tensor]] = {}

    def of(self, tensor: torch.Tensor) -> torch.Tensor | None:
        """int32 of the tensor's shape, or None where no entry belongs to a row."""
        found = self.beside.get(_compat.Memory(tensor).key)
        if found is None or not found[0].alive or found[1] != tensor.element_size():
            return None
        return torch.as_strided(found[2], tensor.shape, tensor.stride(), tensor.storage_offset())

    def write(self, tensor: torch.Tensor, ids: torch.Tensor) -> None:
        here = self.of(tensor)
        if here is None:
            memory, size = _compat.Memory(tensor), tensor.element_size()
            entries = tensor.untyped_storage().nbytes() // size
            self.beside[memory.key] = (
                memory,
                size,
                torch.full((entries,), SHARED, dtype=torch.int32, device=tensor.device),
            )
            here = self.of(tensor)
        if here is not None:
            here.copy_(ids)

    def along(self, tensor: torch.Tensor) -> tuple[int, torch.Tensor] | None:
        """(axis, row of each index along it) where the row depends on the index along one axis alone."""
        ids = self.of(tensor)
        if ids is None or not ids.numel():
            return None
        for axis in range(ids.ndim):
            flat = ids.movedim(axis, 0).reshape(ids.shape[axis], -1)
            if bool((flat == flat[:, :1]).all()):
                return None if int(flat.max()) == SHARED else (axis, flat[:, 0])
        return None

    def follow(self, func: Any, args: Any, kwargs: Any, outputs: Sequence[torch.Tensor]) -> None:
        """Notes the rows of an operation's results."""
        given = _compat.tensors_in((args, kwargs))
        known = [t for t in given if self.of(t) is not None]
        changed = [o for o in outputs if self._is_made(func, o, given)]
        if not known or not changed:
            return
        name = func.__name__.split(".")[0]
        if name in _MOVES:
            ids = func(*self._shadows(args[:1]), *args[1:], **kwargs)
            self.write(changed[0], ids)
        elif name in _POINTWISE or _compat.is_pointwise(func):
            inputs = given[1:] if name == "copy_" else given
            for out in changed:
                self.write(out, self._merged(inputs, out))
        else:
            for out in changed:
                self._by_axis(known, out)

    @staticmethod
    def _is_made(func: Any, out: torch.Tensor, given: Sequence[torch.Tensor]) -> bool:
        """Whether an operation writes `out`, which may be one of its arguments, and is no view of one."""
        memory = {_compat.Memory(t).key for t in given}
        return _compat.Memory(out).key not in memory or func._schema.is_mutable

    def _shadows(self, tree: Any) -> Any:
        return _compat.tree_map_only(torch.Tensor, self._filled, tree)

    def _filled(self, tensor: torch.Tensor) -> torch.Tensor:
        ids = self.of(tensor)
        if ids is None:
            return torch.full(tensor.shape, SHARED, dtype=torch.int32, device=tensor.device)
        return ids.clone()

    def _merged(self, inputs: Sequence[torch.Tensor], like: torch.Tensor) -> torch.Tensor:
        """One row's number where an entry meets it and shared ones only; SHARED where it meets two rows."""
        out = torch.full(like.shape, SHARED, dtype=torch.int32, device=like.device)
        mixed = torch.zeros_like(out, dtype=torch.bool)
        for tensor in inputs:
            ids = self.of(tensor)
            if ids is None:
                continue
            ids = ids.broadcast_to(out.shape)
            mixed |= (out != SHARED) & (ids != SHARED) & (out != ids)
            out = torch.maximum(out, ids)
        return out.masked_fill(mixed, SHARED)

    def _by_axis(self, known: Sequence[torch.Tensor], out: torch.Tensor) -> None:
        """A product, a norm or a sum keeps the axis of its rows, if that is as long as before."""
        for tensor in known:
            found = self.along(tensor)
            if found is not None and out.ndim > found[0] and out.shape[found[0]] == len(found[1]):
                shape = [1] * out.ndim
                shape[found[0]] = -1
                self.write(out, found[1].reshape(shape).expand(out.shape))
                return
