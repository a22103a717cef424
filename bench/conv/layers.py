"""The layers that are timed, and what is aimed at."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from bench.harness.tables import Series, Table, Target
from bench.harness.work import OneCopy


@dataclass(frozen=True)
class Layer(OneCopy):
    """A square 2-D convolution in float32; padding keeps the size at stride 1. channels and columns: of all groups."""

    network: str
    kind: str
    image: int
    channels: int
    columns: int
    kernel: int
    stride: int = 1
    groups: int = 1
    batch: int = 1

    dtype = "float32"

    @property
    def name(self) -> str:
        return f"{self.kind} {self.image} {self.channels}->{self.columns}, batch {self.batch}"

    @property
    def regime(self) -> str:
        return f"{self.network}, batch {self.batch}"

    @property
    def pad(self) -> int:
        return self.kernel // 2

    @property
    def out(self) -> int:
        return (self.image + 2 * self.pad - self.kernel) // self.stride + 1

    @property
    def taps(self) -> int:
        """What an output element is the sum of."""
        return self.channels // self.groups * self.kernel**2

    @property
    def flops(self) -> float:
        return 2.0 * self.batch * self.columns * self.out**2 * self.taps

    @property
    def b_bytes(self) -> int:
        return 4 * self.columns * self.taps

    @property
    def bytes(self) -> int:
        """What has to move once: image, weights and result."""
        return self.b_bytes + 4 * self.batch * (self.channels * self.image**2 + self.columns * self.out**2)


RESNET, CIFAR, MOBILE = "ResNet-50", "CIFAR", "MobileNet and grouped"

LAYERS = (
    Layer(RESNET, "7x7 s2", 224, 3, 64, 7, 2),
    Layer(RESNET, "3x3", 56, 64, 64, 3),
    Layer(RESNET, "3x3", 28, 128, 128, 3),
    Layer(RESNET, "3x3", 14, 256, 256, 3),
    Layer(RESNET, "3x3", 7, 512, 512, 3),
    Layer(RESNET, "3x3 s2", 56, 128, 128, 3, 2),
    Layer(RESNET, "3x3 s2", 28, 256, 256, 3, 2),
    Layer(RESNET, "3x3 s2", 14, 512, 512, 3, 2),
    Layer(RESNET, "1x1", 56, 64, 256, 1),
    Layer(RESNET, "1x1", 56, 256, 64, 1),
    Layer(RESNET, "1x1", 28, 512, 128, 1),
    Layer(RESNET, "1x1", 14, 256, 1024, 1),
    Layer(RESNET, "1x1", 7, 2048, 512, 1),
    Layer(RESNET, "1x1 s2", 56, 256, 512, 1, 2),
    Layer(RESNET, "1x1 s2", 14, 1024, 2048, 1, 2),
    Layer(CIFAR, "3x3", 32, 3, 16, 3),
    Layer(CIFAR, "3x3", 32, 16, 16, 3),
    Layer(CIFAR, "3x3 s2", 32, 16, 32, 3, 2),
    Layer(CIFAR, "3x3", 16, 32, 32, 3),
    Layer(CIFAR, "3x3", 8, 64, 64, 3),
    Layer(CIFAR, "3x3", 32, 64, 64, 3),
    Layer(MOBILE, "depthwise 3x3", 112, 32, 32, 3, 1, 32),
    Layer(MOBILE, "depthwise 3x3 s2", 112, 96, 96, 3, 2, 96),
    Layer(MOBILE, "depthwise 3x3", 28, 192, 192, 3, 1, 192),
    Layer(MOBILE, "depthwise 3x3", 14, 576, 576, 3, 1, 576),
    Layer(MOBILE, "depthwise 5x5", 14, 480, 480, 5, 1, 480),
    Layer(MOBILE, "grouped 3x3", 56, 128, 128, 3, 1, 32),
    Layer(MOBILE, "grouped 3x3", 14, 512, 512, 3, 1, 32),
)
FEW = (LAYERS[0], LAYERS[2], LAYERS[10], LAYERS[17], LAYERS[19], LAYERS[23])
"""For a quick run, and for the table that is held to AVX2."""
BATCHES = (1, 32)
AIM = 0.8


def _batched(layers: Iterable[Layer]) -> tuple[Layer, ...]:
    return tuple(replace(layer, batch=batch) for batch in BATCHES for layer in layers)


def _table(key: str, title: str, text: str, layers: Iterable[Layer], setting: str = "") -> Table:
    """Both channel orders of ours, each held to the faster of torch's two."""
    series = tuple(Series(f"{who} {order}", setting) for who in ("samebits", "torch") for order in ("NCHW", "NHWC"))
    cases = _batched(layers)
    ours, peers = [s.name for s in series[:2]], [s.name for s in series[2:]]
    targets = tuple(
        Target(name, "best", AIM, AIM, regime) for regime in dict.fromkeys(c.regime for c in cases) for name in ours
    )
    pairs = tuple((name, peer) for name in ours for peer in peers)
    quick = _batched(FEW)
    return Table(key, title, text, cases, quick, series, targets, lambda case, level: case.regime, pairs=pairs)


TABLES = {
    table.key: table
    for table in (
        _table("conv", "Layers", "Each layer at batch 1 and 32, one copy of its operands.", LAYERS),
        _table("conv-avx2", "Held to AVX2", "SAMEBITS_ISA=avx2 against ONEDNN_MAX_CPU_ISA=AVX2.", FEW, "AVX2"),
    )
}
