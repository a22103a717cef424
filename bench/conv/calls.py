"""Everybody who can be timed, by name: sb_conv through the C ABI, torch's conv2d through Python, in both orders."""

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

from bench.conv.operands import Operands
from bench.harness.calls import Call, PythonCall, load_torch
from bench.harness.native import NativeCall
from samebits.native._library import DTYPES, check, library


def samebits(operands: Operands, order: str) -> list[Call]:
    """sb_conv, called in a loop of timer.c: its arguments are sb_dot's, with the weights in the place of b."""
    layer, last = operands.case, order == "NHWC"
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
    flat = [f32, f32, 2, layer.batch, g, c, o, *(v for row in three for v in row), *steps(n, c), *weights, *steps(m, o)]
    desc = (ctypes.c_int64 * len(flat))(*flat)
    x, w, out = operands.x[order], operands.w[order], operands.out[order]
    function = library().sb_conv
    check(function(desc, x.ctypes.data, w.ctypes.data, out.ctypes.data, None))
    call = NativeCall("sb", function, x, [w.ctypes.data], out, keep=(w, desc), desc=ctypes.cast(desc, ctypes.c_void_p))
    call.result = lambda: out.transpose(0, 3, 1, 2) if last else out
    return [call]


LOOPS = 20480
"""Up to so many elements of one image torch convolves in loops of its own, unless asked for oneDNN by name."""


def torch(operands: Operands, order: str) -> list[Call]:
    """conv2d on contiguous or channels_last tensors, and oneDNN by name beside it where conv2d may not choose it.

    Less a call on one pixel: Python, torch's dispatch, an allocation. Nothing where torch is not installed, or where
    the layer takes less than that call.
    """
    module = load_torch()
    if module is None:
        return []
    conv2d, onednn, layer = module.nn.functional.conv2d, module.mkldnn_convolution, operands.case
    x, w = (module.from_numpy(v[order]) for v in (operands.x, operands.w))
    if order == "NHWC":
        x, w = (v.permute(0, 3, 1, 2) for v in (x, w))
    stride, pad, groups = layer.stride, layer.pad, layer.groups
    ways: dict[str, Callable[[Any], Any]] = {"conv2d": lambda w: conv2d(x, w, None, stride, pad, 1, groups)}
    if layer.batch == 1 and groups == 1 and x.numel() <= LOOPS:
        ways["mkldnn_convolution"] = lambda w: onednn(x, w, None, [pad] * 2, [stride] * 2, [1, 1], groups)
    pixel, three = module.zeros((1, 1, 1, 1)), module.zeros((1, 1, 3, 3))
    calls: list[Call] = []
    for via, way in ways.items():
        call = PythonCall(way, [w], lambda w: conv2d(pixel, w, padding=1), three, via)
        if call.measurable:
            calls.append(call)
    return calls


COMPETITORS: dict[str, Callable[[Operands], Sequence[Call]]] = {
    "samebits NCHW": lambda operands: samebits(operands, "NCHW"),
    "samebits NHWC": lambda operands: samebits(operands, "NHWC"),
    "torch NCHW": lambda operands: torch(operands, "NCHW"),
    "torch NHWC": lambda operands: torch(operands, "NHWC"),
}
OURS = ("samebits NCHW", "samebits NHWC")
"""Those whose results must be the same bits."""
