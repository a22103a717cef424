"""What a run does, call by call: each aten operation with its tensors and the Python lines that made it."""

import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch.utils.weak import WeakIdKeyDictionary

from samebits._frontends import Frame

_HERE = str(Path(__file__).parent)
_MACHINERY = ("/torch/utils/", "/torch/_ops.py", "/torch/_functorch/", "/torch/autograd/", "/torch/_tensor.py")


@dataclass
class Operation:
    """One aten call. `inputs` and `outputs` are what the recorder's look made of the tensors; numbers name tensors."""

    name: str
    frames: tuple[Frame, ...]
    inputs: list[Any]
    outputs: list[Any]
    read: list[int]
    made: list[int]
    writes: list[int]  # memory that it changes, by address
    memory: list[int]  # of its inputs

    @property
    def signature(self) -> tuple[Any, ...]:
        return (self.name.rpartition(".")[0], *((f.file, f.line) for f in self.frames[:6]))

    @property
    def place(self) -> tuple[Any, ...]:
        """The same without the operation: a mapped call and a single one differ in it."""
        return self.signature[1:]


Look = Callable[[int, int, torch.Tensor], Any]
"""look(number of the call, number of the tensor in it, tensor): what is kept of a tensor."""


@dataclass
class Recording:
    operations: list[Operation] = field(default_factory=list)
    results: list[int] = field(default_factory=list)  # numbers of the tensors returned
    values: list[Any] = field(default_factory=list)  # and what look made of them


class _Recorder(TorchDispatchMode):
    def __init__(self, look: Look):
        super().__init__()
        self.look, self.recording = look, Recording()
        self.numbers: Any = WeakIdKeyDictionary()
        self.count = 0

    def number(self, tensor: torch.Tensor) -> int:
        found = self.numbers.get(tensor)
        if found is None:
            found = self.numbers[tensor] = self.count
            self.count += 1
        return found

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        given = [x for x in tree_leaves((args, kwargs)) if isinstance(x, torch.Tensor)]
        k = len(self.recording.operations)
        inputs = [self.look(k, i, t) for i, t in enumerate(given)]
        read = [self.number(t) for t in given]
        out = func(*args, **kwargs)
        made = [x for x in tree_leaves(out) if isinstance(x, torch.Tensor)]
        outputs = [self.look(k, len(given) + i, t) for i, t in enumerate(made)]
        self.recording.operations.append(
            Operation(str(func), frames(), inputs, outputs, read, [self.number(t) for t in made],
                      _written(func, args, kwargs), [_address(t) for t in given])
        )  # fmt: skip
        return out


def record(call: Callable[[], list[torch.Tensor]], look: Look) -> Recording:
    """One run of `call`, which returns its tensors."""
    recorder = _Recorder(look)
    with recorder:
        results = call()
    recording = recorder.recording
    recording.results = [recorder.number(t) for t in results]
    recording.values = [look(-1, i, t) for i, t in enumerate(results)]
    return recording


def _address(tensor: torch.Tensor) -> int:
    try:
        return tensor.untyped_storage().data_ptr()
    except (RuntimeError, NotImplementedError):  # no memory of its own
        return 0


def _written(func: Any, args: Any, kwargs: Any) -> list[int]:
    """The memory of arguments that an operation changes."""
    found = []
    for i, a in enumerate(func._schema.arguments):
        if a.alias_info is not None and a.alias_info.is_write:
            value = args[i] if i < len(args) else kwargs.get(a.name)
            found += [_address(t) for t in tree_leaves(value) if isinstance(t, torch.Tensor)]
    return found


def frames() -> tuple[Frame, ...]:
    """The Python stack, innermost first, without the recorder's and the dispatcher's own lines."""
    out = []
    frame: Any = sys._getframe(2)
    while frame is not None and len(out) < 40:
        file = frame.f_code.co_filename
        if not file.startswith(_HERE) and not any(part in file for part in _MACHINERY):
            out.append(Frame(file, frame.f_lineno, frame.f_code.co_name))
        frame = frame.f_back
    return tuple(out)
