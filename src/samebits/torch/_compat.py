"""What depends on PyTorch's version, or is not part of its public interface."""

from typing import Any

import ml_dtypes
import numpy as np
import torch
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._python_dispatch import TorchDispatchMode as TorchDispatchMode
from torch.utils._pytree import SUPPORTED_NODES, tree_leaves as tree_leaves, tree_map_only as tree_map_only
from torch.utils.weak import WeakIdKeyDictionary as WeakIdKeyDictionary

# Floats that NumPy lacks, and the integer of their size that carries the bits.
CARRIED = {torch.bfloat16: (torch.int16, np.dtype(ml_dtypes.bfloat16))} | {
    getattr(torch, name): (torch.uint8, np.dtype(getattr(ml_dtypes, name)))
    for name in ("float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e8m0fnu")
    if hasattr(torch, name) and hasattr(ml_dtypes, name)
}


def registered(tree: Any) -> tuple[list[Any], Any] | None:
    """(children, what else the container knows) of a container that its library has made known to PyTorch."""
    node = SUPPORTED_NODES.get(type(tree))
    return None if node is None else node.flatten_fn(tree)


def rebuilt(tree: Any, children: list[Any]) -> Any:
    """The inverse of `registered` for a container like `tree`."""
    node = SUPPORTED_NODES[type(tree)]
    return node.unflatten_fn(children, node.flatten_fn(tree)[1])


def tensors_in(tree: Any) -> list[torch.Tensor]:
    return [x for x in tree_leaves(tree) if isinstance(x, torch.Tensor)]


def is_pointwise(func: Any) -> bool:
    return torch.Tag.pointwise in func.tags


class Memory:
    """The memory of a tensor: a key for dictionaries, good while `alive`."""

    def __init__(self, tensor: torch.Tensor):
        self._weak = StorageWeakRef(tensor.untyped_storage())
        self.key = self._weak.cdata

    @property
    def alive(self) -> bool:
        return not self._weak.expired()
