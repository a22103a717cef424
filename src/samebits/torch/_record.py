"""What a run does, call by call: each aten operation with its tensors and the Python lines that made it."""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import torch

from samebits._frontends import Frame
from samebits.torch import _compat

_HERE = str(Path(__file__).parent)
_MACHINERY = tuple(
    f"/torch/{part}" for part in (
        "utils/", "_ops.py", "_functorch/", "autograd/", "_tensor.py", "_dynamo/", "_compile.py", "nn/modules/module.py"
    )
)  # fmt: skip


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
        return (self.name.rpartition(".")[0], *((f.file, f.line) for f in self.frames))

    @property
    def place(self) -> tuple[Any, ...]:
        """The same without the operation: a mapped call and a single one differ in it."""
        return self.signature[1:]


class Look(Protocol):
    """What is kept of a tensor, by the number of the call and of the tensor in it; -1: the results."""

    def __call__(self, call: int, number: int, tensor: torch.Tensor, /) -> Any: ...

    def follow(self, call: int, func: Any, args: Any, kwargs: Any, outputs: Sequence[torch.Tensor], /) -> None:
        """Called after each operation, before its outputs are looked at."""
        ...


class Shapes:
    """Keeps the shapes alone."""

    def __call__(self, call: int, number: int, tensor: torch.Tensor, /) -> tuple[int, ...]:
        return tuple(tensor.shape)

    def follow(self, call: int, func: Any, args: Any, kwargs: Any, outputs: Sequence[torch.Tensor], /) -> None: ...


@dataclass
class Recording:
    operations: list[Operation] = field(default_factory=list)
    results: list[int] = field(default_factory=list)  # numbers of the tensors returned
    values: list[Any] = field(default_factory=list)  # and what look made of them


class _Recorder(_compat.TorchDispatchMode):
    def __init__(self, look: Look):
        super().__init__()
        self.look, self.recording = look, Recording()
        self.numbers: Any = _compat.WeakIdKeyDictionary()
        self.count = 0

    def number(self, tensor: torch.Tensor) -> int:
        found = self.numbers.get(tensor)
        if found is None:
            found = self.numbers[tensor] = self.count
            self.count += 1
        return found

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        given = _compat.tensors_in((args, kwargs))
        k = len(self.recording.operations)
        inputs = [self.look(k, i, t) for i, t in enumerate(given)]
        read = [self.number(t) for t in given]
        out = func(*args, **kwargs)
        made = _compat.tensors_in(out)
        self.look.follow(k, func, args, kwargs, made)
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
            found += [_address(t) for t in _compat.tensors_in(value)]
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
