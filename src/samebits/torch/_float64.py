"""A call in float64 of what is written for narrower floats."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

from samebits.torch import _compat
from samebits.torch._constants import replaced

_WIDER = {torch.float16: torch.float64, torch.bfloat16: torch.float64, torch.float32: torch.float64,
          torch.complex32: torch.complex128, torch.complex64: torch.complex128}  # fmt: skip


def wide(tensor: torch.Tensor) -> torch.Tensor:
    """float64 or complex128 for a narrower float; other tensors as they are."""
    to = _WIDER.get(tensor.dtype)
    return tensor if to is None else tensor.detach().to(to).requires_grad_(tensor.requires_grad)


class _Widen(_compat.TorchDispatchMode):
    """Asks for float64 where an operation is asked for a narrower float by name (x.float(), dtype=torch.float32)."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        args, kwargs = _compat.tree_map_only(torch.dtype, lambda d: _WIDER.get(d, d), (args, kwargs or {}))
        return func(*args, **kwargs)


@contextmanager
def everywhere(tensors: list[torch.Tensor]) -> Iterator[None]:
    """Inside, these tensors, new ones and conversions are float64."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        with replaced(tensors, lambda t: t.to(_WIDER.get(t.dtype, t.dtype))), _Widen():
            yield
    finally:
        torch.set_default_dtype(before)
