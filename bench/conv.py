"""Times sb_conv against torch's conv2d (oneDNN), interleaved in one process, float32.

    python bench/conv.py [--threads N] [--json FILE] [--case SUBSTRING] [--rounds N] [--layout NCHW|NHWC]

A row is a layer of ResNet-50, of a CIFAR ResNet or of MobileNet at batch 1 and 32. torch is timed with tensors in both
memory formats, and the faster one counts (oneDNN computes on blocked copies in any case). Times are in microseconds:
the least and the median over rounds that visit everyone; a ratio above 1 means that sb_conv is the faster.
One thread is timed by the CPU that it uses, so that a neighbour on the machine counts less; more by the wall clock.
"""

import argparse
import ctypes
import json
import os
import statistics
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from importlib import import_module
from pathlib import Path
from time import perf_counter_ns, thread_time_ns


@dataclass(frozen=True)
class Layer:
    """A square 2-D convolution; padding keeps the size at stride 1."""

    name: str
    image: int
    channels: int  # of all groups
    columns: int
    kernel: int
    stride: int = 1
    groups: int = 1

    @property
    def pad(self) -> int:
        return self.kernel // 2

    @property
    def out(self) -> int:
        return (self.image + 2 * self.pad - self.kernel) // self.stride + 1

    def multiply_adds(self, batch: int) -> int:
        return batch * self.columns * self.out**2 * self.channels // self.groups * self.kernel**2


LAYERS = [
    Layer("resnet stem", 224, 3, 64, 7, 2),
    Layer("resnet 3x3", 56, 64, 64, 3),
    Layer("resnet 3x3", 28, 128, 128, 3),
    Layer("resnet 3x3", 14, 256, 256, 3),
    Layer("resnet 3x3", 7, 512, 512, 3),
    Layer("resnet 3x3 s2", 56, 128, 128, 3, 2),
    Layer("resnet 3x3 s2", 28, 256, 256, 3, 2),
    Layer("resnet 3x3 s2", 14, 512, 512, 3, 2),
    Layer("resnet 1x1", 56, 64, 256, 1),
    Layer("resnet 1x1", 56, 256, 64, 1),
    Layer("resnet 1x1", 28, 512, 128, 1),
    Layer("resnet 1x1", 14, 256, 1024, 1),
    Layer("resnet 1x1", 7, 2048, 512, 1),
    Layer("resnet 1x1 s2", 56, 256, 512, 1, 2),
    Layer("resnet 1x1 s2", 14, 1024, 2048, 1, 2),
    Layer("cifar stem", 32, 3, 16, 3),
    Layer("cifar 3x3", 32, 16, 16, 3),
    Layer("cifar 3x3 s2", 32, 16, 32, 3, 2),
    Layer("cifar 3x3", 16, 32, 32, 3),
    Layer("cifar 3x3", 8, 64, 64, 3),
    Layer("cifar 3x3", 32, 64, 64, 3),
    Layer("depthwise", 112, 32, 32, 3, 1, 32),
    Layer("depthwise s2", 112, 96, 96, 3, 2, 96),
    Layer("depthwise", 28, 192, 192, 3, 1, 192),
    Layer("depthwise", 14, 576, 576, 3, 1, 576),
    Layer("depthwise 5x5", 14, 480, 480, 5, 1, 480),
    Layer("grouped 3x3", 56, 128, 128, 3, 1, 32),
    Layer("grouped 3x3", 14, 512, 512, 3, 1, 32),
]


def call(layer: Layer, batch: int, x, w, out, last: bool) -> Callable[[], int]:
    """sb_conv through the C ABI on contiguous float32 arrays, everything prepared; last: NHWC and OHWI, else NCHW."""
    from samebits.native._library import DTYPES, check, library

    n, k, m, g = layer.image, layer.kernel, layer.out, layer.groups
    c, o = layer.channels // g, layer.columns // g

    def steps(size: int, channels: int) -> list[int]:  # image, group, channel, rows, columns, -
        whole = channels * g
        if last:
            return [size * size * whole, channels, 1, size * whole, whole, 0]
        return [whole * size * size, channels * size * size, size * size, size, 1, 0]

    weights = [o * k * k * c, k * k * c, 1, k * c, c, 0] if last else [o * k * k * c, k * k * c, k * k, k, 1, 0]
    three = ([v, v, 1] for v in (n, k, m, layer.stride, layer.pad, 1, 1))
    f32 = DTYPES.index("float32")
    flat = [f32, f32, 2, batch, g, c, o, *(v for row in three for v in row), *steps(n, c), *weights, *steps(m, o)]
    desc = (ctypes.c_int64 * len(flat))(*flat)
    arguments = (desc, *[ctypes.c_void_p(a.ctypes.data) for a in (x, w, out)], None)
    function = library().sb_conv
    check(function(*arguments))
    return lambda: function(*arguments)


def aligned(shape, rng=None):
    """A float32 array on a cache line of its own, as torch's are."""
    import numpy as np

    size = int(np.prod(shape))
    room = np.zeros(size + 16, np.float32)
    start = -room.ctypes.data % 64 // 4
    out = room[start : start + size].reshape(shape)
    if rng is not None:
        out[...] = rng.standard_normal(shape, np.float32)
    return out


def measure(layer: Layer, batch: int, rounds: int, clock: Callable[[], int]) -> dict[str, dict[str, float]]:
    """Of ours and torch's in both layouts: the least and the median time of a call."""
    import numpy as np

    torch = import_module("torch")
    rng = np.random.default_rng(0)
    n, k, m, c = layer.image, layer.kernel, layer.out, layer.channels // layer.groups
    x, w = aligned((batch, layer.channels, n, n), rng), aligned((layer.columns, c, k, k), rng)
    out = aligned((batch, layer.columns, m, m))
    x_last, w_last, out_last = (aligned(a.transpose(0, 2, 3, 1).shape) for a in (x, w, out))
    x_last[...], w_last[...] = x.transpose(0, 2, 3, 1), w.transpose(0, 2, 3, 1)
    conv2d = torch.nn.functional.conv2d
    a, b = torch.from_numpy(x), torch.from_numpy(w)
    a_last, b_last = (torch.from_numpy(v).permute(0, 3, 1, 2) for v in (x_last, w_last))
    options = {"stride": layer.stride, "padding": layer.pad, "groups": layer.groups}
    functions = {
        "ours NCHW": call(layer, batch, x, w, out, False),
        "ours NHWC": call(layer, batch, x_last, w_last, out_last, True),
        "torch NCHW": lambda: conv2d(a, b, **options),
        "torch NHWC": lambda: conv2d(a_last, b_last, **options),
    }
    expected = conv2d(a, b, **options).numpy()
    scale = float(np.abs(expected).max())
    assert np.abs(out - expected).max() < 1e-4 * scale, layer
    assert np.array_equal(out_last.transpose(0, 3, 1, 2), out), layer
    times: dict[str, list[float]] = {name: [] for name in functions}
    repeats = {}
    for name, function in functions.items():
        function()
        start = clock()
        function()
        repeats[name] = max(1, int(1_000_000 / max(clock() - start, 100)))
    for _ in range(rounds):
        for name, function in functions.items():
            start = clock()
            for _ in range(repeats[name]):
                function()
            times[name].append((clock() - start) / repeats[name] / 1000)
    return {name: {"min": min(t), "median": statistics.median(t)} for name, t in times.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--json", type=Path, help="write the rows to this file")
    parser.add_argument("--case", default="", help="only the rows whose name contains this")
    parser.add_argument("--batch", type=int, action="append", help="default: 1 and 32")
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    os.environ["SAMEBITS_THREADS"] = str(options.threads)
    if options.threads == 1 and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})

    torch = import_module("torch")
    torch.set_num_threads(options.threads)
    torch.set_grad_enabled(False)
    print(f"{'':16}batch {'ours NCHW':>11} {'NHWC':>9} {'torch NCHW':>11} {'NHWC':>9}  NCHW NHWC / medians  GFLOP/s")
    rows = []
    for layer in LAYERS:
        for batch in options.batch or (1, 32):
            name = f"{layer.name} {layer.image} {layer.channels}->{layer.columns}"
            if options.case not in name:
                continue
            t = measure(layer, batch, options.rounds, thread_time_ns if options.threads == 1 else perf_counter_ns)
            least = {k: v["min"] for k, v in t.items()}
            peer = {s: min(t["torch NCHW"][s], t["torch NHWC"][s]) for s in ("min", "median")}
            ratio = {o: [peer[s] / t[f"ours {o}"][s] for s in ("min", "median")] for o in ("NCHW", "NHWC")}
            print(
                f"{name:28}{batch:3} {least['ours NCHW']:9.1f} {least['ours NHWC']:9.1f} {least['torch NCHW']:9.1f} "
                f"{least['torch NHWC']:9.1f}   {ratio['NCHW'][0]:.2f} {ratio['NHWC'][0]:.2f} / {ratio['NCHW'][1]:.2f} "
                f"{ratio['NHWC'][1]:.2f}  {2e-3 * layer.multiply_adds(batch) / least['ours NCHW']:7.1f}",
                flush=True,
            )
            rows.append({**asdict(layer), "batch": batch, "microseconds": t, "ratio": ratio})
    if options.json:
        from samebits import native

        head = {"isa": native.isa(), "threads": options.threads, "torch": torch.__version__, "python": sys.version}
        options.json.write_text(json.dumps({**head, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
