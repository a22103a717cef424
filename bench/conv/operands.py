"""The data of a layer: random but fixed, in both channel orders, and the truth that everybody is held to."""

import math
from functools import cached_property

import numpy as np

from bench.conv.layers import Layer
from bench.harness.arrays import aligned


class Operands:
    """x, w and out by channel order: NCHW and OIHW, or NHWC and OHWI, each contiguous and on a cache line."""

    def __init__(self, layer: Layer):
        self.case, random = layer, np.random.default_rng(0)
        inside, k = layer.channels // layer.groups, layer.kernel
        x = random.standard_normal((layer.batch, layer.channels, layer.image, layer.image), np.float32)
        w = random.standard_normal((layer.columns, inside, k, k), np.float32)
        out = np.zeros((layer.batch, layer.columns, layer.out, layer.out), np.float32)
        self.x, self.w, self.out = ({"NCHW": aligned(v), "NHWC": aligned(v.transpose(0, 2, 3, 1))} for v in (x, w, out))

    def clear(self) -> None:
        """Makes sure that a result which is not computed is noticed."""
        for out in self.out.values():
            out.fill(float("nan"))

    def check(self, out: np.ndarray, epsilon: float | None = None) -> None:
        """Raises ValueError where a few rows of out [NCHW] are not the convolution, to what any order of adding has.

        epsilon: float32's unless given.
        """
        unit = float(np.finfo(np.float32).eps) if epsilon is None else epsilon
        for (image, row), (truth, size) in self._truth.items():
            allowed = (4 + math.sqrt(self.case.taps)) * unit * size
            wrong = ~(np.abs(out[image, :, row].astype(np.float64) - truth) <= allowed)
            if wrong.any():
                compared = f"{wrong.sum()} of {wrong.size} elements compared"
                raise ValueError(f"{compared} are not the convolution ({self.case.name})")

    @cached_property
    def _truth(self) -> dict[tuple[int, int], tuple[np.ndarray, np.ndarray]]:
        """For a few rows of the first and the last image: they [channel, column], and the same of |x| and |w|."""
        layer, found = self.case, {}
        k, g = layer.kernel, layer.groups
        w = self.w["NCHW"].astype(np.float64).reshape(g, layer.columns // g, -1)
        for image in {0, layer.batch - 1}:
            x = np.pad(self.x["NCHW"][image].astype(np.float64), [(0, 0), *[(layer.pad, layer.pad)] * 2])
            for row in {0, layer.out // 2, layer.out - 1}:
                lines = x[:, row * layer.stride : row * layer.stride + k]
                windows = np.lib.stride_tricks.sliding_window_view(lines, k, axis=2)[:, :, :: layer.stride]
                taps = windows.swapaxes(2, 3).reshape(g, -1, layer.out)
                found[image, row] = tuple(
                    (b @ a).reshape(layer.columns, layer.out) for a, b in ((taps, w), (np.abs(taps), np.abs(w)))
                )
        return found
