"""What the driver and the summary need to know of something to be timed."""

from dataclasses import asdict, dataclass
from typing import Any, Protocol


class Work(Protocol):
    """What the driver and the summary need to know of something to be timed: a product, a convolution, a sum."""

    @property
    def name(self) -> str: ...
    @property
    def dtype(self) -> str: ...
    @property
    def flops(self) -> float: ...
    @property
    def bytes(self) -> int: ...
    @property
    def b_bytes(self) -> int: ...
    @property
    def transposed_bytes(self) -> int: ...
    def copies(self, caches: dict[str, int]) -> int: ...
    def level(self, caches: dict[str, int]) -> str: ...
    def to_json(self) -> dict[str, Any]: ...


@dataclass(frozen=True)
class OneCopy:
    """Work on one copy of its operands, which the caches hold from call to call if they can."""

    @property
    def bytes(self) -> int:
        """What has to move once."""
        raise NotImplementedError

    @property
    def transposed_bytes(self) -> int:
        """Of operands that go through the registers' transpose."""
        return 0

    def copies(self, caches: dict[str, int]) -> int:
        return 1

    def level(self, caches: dict[str, int]) -> str:
        """The innermost level that holds everything."""
        return next((name for name in ("L1", "L2", "L3") if self.bytes <= caches[name]), "memory")

    def to_json(self) -> dict[str, Any]:
        return asdict(self)
