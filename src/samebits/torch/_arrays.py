"""Tensors as host arrays and back, every bit as it is."""

from typing import Any

import ml_dtypes
import numpy as np
import torch

# What NumPy lacks, and the integer of its size that carries the bits.
_CARRIED = {
    torch.bfloat16: (torch.int16, np.dtype(ml_dtypes.bfloat16)),
    torch.float8_e4m3fn: (torch.uint8, np.dtype(ml_dtypes.float8_e4m3fn)),
    torch.float8_e5m2: (torch.uint8, np.dtype(ml_dtypes.float8_e5m2)),
}
_BACK = {array: (carrier, dtype) for dtype, (carrier, array) in _CARRIED.items()}


def to_host(tensor: torch.Tensor) -> np.ndarray:
    """A copy of a tensor as a NumPy array; bfloat16 and 8-bit floats as those of ml_dtypes."""
    t = tensor.detach()
    if t.layout is not torch.strided:
        t = t.to_dense()
    if t.is_quantized:
        t = t.int_repr()
    t = t.cpu().resolve_conj().resolve_neg()
    if t.dtype in _CARRIED:
        carrier, dtype = _CARRIED[t.dtype]
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
    return t if like is None else t.to(like.device).requires_grad_(like.requires_grad)
