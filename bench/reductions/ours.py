"""samebits as a competitor: each reduction by the C function that computes it."""

import ctypes

from bench.harness.native import NativeCall
from bench.reductions.case import SEGMENTS, K
from bench.reductions.operands import Operands
from samebits.native._arrays import padded, words
from samebits.native._library import DTYPES, check, library
from samebits.native._program import REDUCTIONS, Program
from samebits.native._run import CompiledProgram
from samebits.order._window_shape import windows


def samebits(operands: Operands) -> list[NativeCall]:
    case, x, out = operands.case, operands.x, operands.out
    dtype, lib = DTYPES.index(case.dtype), library()
    steps = [s // x.itemsize for s in x.strides]
    source, target, function = x.ctypes.data, out.ctypes.data, lib.sb_reduce
    pointers = [source, target]
    if case.pool:
        size, step = operands.window
        sizes, strides = ((1, n, n, 1) if case.last else (1, 1, n, n) for n in (size, step))
        w = windows("bench", x.shape, sizes, strides)
        rows = (x.shape, steps, w.window, w.strides, w.low, w.base_dilation, w.window_dilation, w.out,
                [s // out.itemsize for s in out.strides])  # fmt: skip
        op = REDUCTIONS["max" if "max" in case.op else "sum"]
        function, desc = lib.sb_window, words(op, dtype, dtype, 4, *map(padded, rows))
    elif case.op == "segment_sum":
        desc = words(0, dtype, DTYPES.index("int64"), SEGMENTS, case.rows, case.columns)
        function, pointers = lib.sb_scatter, [operands.zeros.ctypes.data, operands.ids.ctypes.data, source, target]
    elif case.op == "top_k":
        desc = words(
            dtype, DTYPES.index("int64"), 1, K, 1, padded(x.shape[:1]), padded(steps[:1]), x.shape[1], steps[1]
        )
        function, pointers = lib.sb_top_k, [source, target, operands.indices.ctypes.data]
    elif case.op == "cumsum":
        row = (padded(x.shape[:1]), padded(steps[:1]), padded(steps[:1]))
        function, desc = lib.sb_cumulative, words(0, dtype, 0, 1, *row, x.shape[1], steps[1], steps[1])
    elif case.op == "mean":
        return [_mean(operands)]
    else:
        number, kept = DTYPES.index(out.dtype.name), 1 - case.axis
        desc = words(REDUCTIONS[case.op], dtype, number, 1, padded([x.shape[kept]]), padded([steps[kept]]), 1,
                     padded([x.shape[case.axis]]), padded([steps[case.axis]]))  # fmt: skip
    check(function(desc, *pointers, None))
    return [NativeCall.fixed(function, desc, *pointers, out=out, keep=operands)]


def _mean(operands: Operands) -> NativeCall:
    """A program: the sum, then a division; as JAX programs have it."""
    case, p, out = operands.case, Program(), operands.out
    total = p.reduce("sum", p.argument(case.dtype, case.shape), [case.axis])
    mean = p.map("div", total, p.constant(case.shape[case.axis], case.dtype))
    program = CompiledProgram(p.words([mean]), [(out.shape, case.dtype)])
    buffers = (ctypes.c_void_p * 2)(operands.x.ctypes.data, out.ctypes.data)
    return NativeCall.fixed(library().sb_program_run, program._handle, buffers, out=out, keep=(program, operands))
