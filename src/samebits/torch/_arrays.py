"""Tensors as host arrays and back, every bit as it is."""

from typing import Any

import numpy as np
import torch

from samebits.torch._compat import CARRIED

_BACK = {array: (carrier, dtype) for dtype, (carrier, array) in CARRIED.items()}


def to_host(tensor: torch.Tensor) -> np.ndarray:
    """A copy of a tensor as a NumPy array; bfloat16 and 8-bit floats as those of ml_dtypes."""
    t = tensor.detach()
    if t.layout is not torch.strided:
        t = t.to_dense()
    if t.is_quantized:
        t = t.int_repr()
    t = t.cpu().resolve_conj().resolve_neg()
    if t.dtype in CARRIED:
        carrier, dtype = CARRIED[t.dtype]
        return t.contiguous().view(carrier).numpy().view(dtype).copy()
    return np.array(t.numpy())


def to_tensor(array: Any, like: torch.Tensor | None = None) -> torch.Tensor:
    """A tensor of its own memory with an array's bits, on the device of `like`."""
    a = np.ascontiguousarray(array).reshape(np.shape(array))
    if a.dtype in _BACK:
        carrier, dtype = _BACK[a.dtype]
        t = torch.from_numpy(a.view(np.int16 if carrier is torch.int16 else np.uint8).copy()).view(dtype)
    else:
        t = torch.from_numpy(a.copy())
    if like is None:
        return t
    if t.ndim == 4 and like.is_contiguous(memory_format=torch.channels_last) and not like.is_contiguous():
        t = t.contiguous(memory_format=torch.channels_last)  # another layout is another kernel
    return t.to(like.device).requires_grad_(like.requires_grad)
