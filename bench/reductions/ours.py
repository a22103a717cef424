"""samebits as a competitor: each reduction by the C function that computes it."""

import ctypes

from bench.matmul.native import NativeCall
from bench.reductions.case import SEGMENTS, K
from bench.reductions.operands import Operands
from samebits.native._arrays import padded, words
from samebits.native._library import DTYPES, library
from samebits.native._program import REDUCTIONS, Program
from samebits.order._window_shape import windows


def samebits(operands: Operands) -> list[NativeCall]:
    case, x, out = operands.case, operands.x, operands.out
    dtype, lib = DTYPES.index(case.dtype), library()
    steps = [s // x.itemsize for s in x.strides]
    fields: dict = {}
    if case.pool:
        size, step = operands.window
        sizes, strides = ((1, n, n, 1) if case.last else (1, 1, n, n) for n in (size, step))
        w = windows("bench", x.shape, sizes, strides)
        rows = (x.shape, steps, w.window, w.strides, w.low, w.base_dilation, w.window_dilation, w.out,
                [s // out.itemsize for s in out.strides])  # fmt: skip
        op = REDUCTIONS["max" if "max" in case.op else "sum"]
        runner, function, desc = "sb_unary", lib.sb_window, words(op, dtype, dtype, 4, *map(padded, rows))
    elif case.op == "segment_sum":
        desc = words(0, dtype, DTYPES.index("int64"), SEGMENTS, case.rows, case.columns)
        runner, function, fields = "sb_scatter", lib.sb_scatter, {"lda": operands.ids.ctypes.data, "ldout": out.nbytes}
    elif case.op == "top_k":
        desc = words(
            dtype, DTYPES.index("int64"), 1, K, 1, padded(x.shape[:1]), padded(steps[:1]), x.shape[1], steps[1]
        )
        runner, function, fields = "sb_top_k", lib.sb_top_k, {"lda": operands.indices.ctypes.data}
    elif case.op == "cumsum":
        row = (padded(x.shape[:1]), padded(steps[:1]), padded(steps[:1]))
        desc = words(0, dtype, 0, 1, *row, x.shape[1], steps[1], steps[1])
        runner, function = "sb_unary", lib.sb_cumulative
    elif case.op == "mean":
        return [_mean(operands)]
    else:
        number, kept = DTYPES.index(out.dtype.name), 1 - case.axis
        desc = words(REDUCTIONS[case.op], dtype, number, 1, padded([x.shape[kept]]), padded([steps[kept]]), 1,
                     padded([x.shape[case.axis]]), padded([steps[case.axis]]))  # fmt: skip
        runner, function = "sb_unary", lib.sb_reduce
    address = ctypes.cast(desc, ctypes.c_void_p)
    return [NativeCall(runner, function, x, [x.ctypes.data], out, keep=(desc, operands), desc=address, **fields)]


def _mean(operands: Operands) -> NativeCall:
    """A program: the sum, then a division; as JAX programs have it."""
    case, lib, program = operands.case, library(), Program()
    x = program.argument(case.dtype, case.shape)
    total = program.reduce("sum", x, [case.axis])
    count = program.constant(case.shape[case.axis], case.dtype)
    flat = program.words([program.map("div", total, count)])
    handle = lib.sb_program_new(flat.ctypes.data_as(ctypes.POINTER(ctypes.c_int64)), flat.size)
    if not handle:
        raise RuntimeError(lib.sb_error().decode())
    return NativeCall("sb_program", lib.sb_program_run, operands.x, [operands.x.ctypes.data], operands.out,
                      keep=operands, desc=handle)  # fmt: skip
