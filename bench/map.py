"""Elementwise programs through the C ABI: ns an element, or an instruction. NumPy beside them where it has a twin.

Run: python bench/map.py [--threads]   (one thread unless --threads; minima of interleaved runs)
"""

import ctypes
import os
import sys
import time
from collections.abc import Callable

if "--threads" not in sys.argv:
    os.environ.setdefault("SAMEBITS_THREADS", "1")

import numpy as np

from samebits.native._library import check, library
from tests.native.maps import Map, Op, addresses, constant, int64s, map_words

F = "float32"


def compiled(m: Map) -> tuple[Callable[[], None], list]:
    """A call that runs the map as a program of one step, and what must stay alive."""
    outputs = [np.empty(m.shape, m.dtype_of(v)) for v in m.outputs]
    whole = [x if x.base is None else x.base for x in m.inputs]
    words = map_words(m, outputs)
    pairs = [w for i in range(len(m.inputs) + len(outputs)) for w in (i, 0)]
    sizes = [x.nbytes for x in [*whole, *outputs]]
    program = [
        0x53414D4542495431,
        len(whole),
        len(outputs),
        0,
        1,
        *sizes,
        0,
        len(pairs) // 2,
        *pairs,
        len(words),
        *words,
    ]
    handle = library().sb_program_new(int64s(program), len(program))
    if not handle:
        raise RuntimeError(library().sb_error().decode())
    buffers = addresses([*whole, *outputs])
    run = library().sb_program_run
    argument = ctypes.c_void_p(handle)
    check(run(argument, buffers, None))
    return lambda: run(argument, buffers, None), [whole, outputs, buffers]


def minima(calls: list[Callable[[], object]], seconds: float = 0.6) -> list[float]:
    """The least time of one call of each, in ns, interleaved; short calls are repeated inside the clock."""
    repeats = []
    for call in calls:
        start = time.perf_counter_ns()
        call()
        repeats.append(max(1, int(20_000 / max(1, time.perf_counter_ns() - start))))
    best = [float("inf")] * len(calls)
    end = time.monotonic() + seconds * len(calls)
    while time.monotonic() < end:
        for i, call in enumerate(calls):
            start = time.perf_counter_ns()
            for _ in range(repeats[i]):
                call()
            best[i] = min(best[i], (time.perf_counter_ns() - start) / repeats[i])
    return best


def relu_bias() -> tuple[Map, Callable[[], object]]:
    x, b = np.random.default_rng(0).normal(size=(10_000, 10)).astype(F), np.ones(10, F)
    m = Map(
        [x, np.broadcast_to(b, x.shape)],
        [Op("add", F, (0, 1)), constant(np.float32(0)), Op("max", F, (2, 3))],
        [4],
        x.shape,
    )
    return m, lambda: np.maximum(x + b, np.float32(0))


def gelu_like(size: int) -> tuple[Map, Callable[[], object]]:
    """Eleven operations of one rounding each (tanh left out: this measures the machine, not a function)."""
    x = np.random.default_rng(0).normal(size=size).astype(F)
    c = [constant(np.float32(v)) for v in (0.044715, 0.7978845, 0.5, 1.0)]  # values 1 to 4
    chain = [("mul", (0, 0)), ("mul", (5, 0)), ("mul", (6, 1)), ("add", (0, 7)), ("mul", (8, 2)), ("mul", (9, 9)),
             ("add", (10, 4)), ("div", (9, 11)), ("add", (12, 4)), ("mul", (13, 0)), ("mul", (14, 3))]  # fmt: skip
    ops = [*c, *(Op(name, F, operands) for name, operands in chain)]

    def numpy() -> object:
        f = np.float32
        t = (x + x * x * x * f(0.044715)) * f(0.7978845)
        return (t / (t * t + f(1)) + f(1)) * x * f(0.5)

    return Map([x], ops, [15], x.shape), numpy


def controller(shape: tuple[int, ...], count: int = 60) -> Map:
    """An ODE controller's mixture of floats, integers and booleans."""
    x, n = np.full(shape, 0.7, F), np.full(shape, 3, "int32")
    ops: list[Op] = [constant(np.float32(0.9)), constant(np.int32(1))]
    value, integer, mask = 0, 1, -1
    while len(ops) < count:
        at = 2 + len(ops)
        step = len(ops) % 6
        if step == 0:
            ops.append(Op("mul", F, (value, 2)))
        elif step == 1:
            ops.append(Op("add", F, (value, 0)))
        elif step == 2:
            ops.append(Op("gt", F, (value, 2)))
            mask = at
            continue
        elif step == 3:
            ops.append(Op("add", "int32", (integer, 3)))
            integer = at
            continue
        elif step == 4:
            ops.append(Op("select", F, (mask, value, 0)))
        else:
            ops.append(Op("min", F, (value, 0)))
        value = at
    return Map([x, n], ops, [value, integer], shape)


def show(name: str, per: int, unit: str, ours: float, numpy: float | None = None) -> None:
    beside = f"{numpy / per:10.3f}" if numpy else " " * 10
    print(f"{name:34}{ours / 1000:12.2f} us{ours / per:10.3f} ns/{unit}   numpy {beside}")


def main() -> None:
    print(
        f"isa {library().sb_isa().decode()}, threads {library().sb_threads()}; each time includes an empty ctypes call"
    )
    call = library().sb_contract_version
    (empty,) = minima([lambda: call()])
    print(f"{'(an empty call)':34}{empty / 1000:12.2f} us")
    for name, (m, numpy) in [
        ("relu + bias (10000, 10)", relu_bias()),
        *((f"gelu-like, 11 ops, {n:.0e}", gelu_like(n)) for n in (1_000, 100_000, 10_000_000)),
    ]:
        run, alive = compiled(m)
        ours, theirs = minima([run, numpy], 1.5)
        show(name, m.inputs[0].size, "elem", ours, theirs)
        del alive
    for shape in [(), (4,), (16,), (64,), (512,)]:
        m = controller(shape)
        run, alive = compiled(m)
        (ours,) = minima([run])
        show(f"controller, 60 instructions, {shape}", len(m.ops), "instr", ours)
        del alive
    for op in ("add", "max", "div", "sqrt", "rem", "nextafter", "exp", "tanh", "pow"):
        x = np.random.default_rng(0).normal(size=512).astype(F) ** 2
        arity = library().sb_op_arity(library().sb_op_find(op.encode()))
        run, alive = compiled(Map([x] * arity, [Op(op, F, tuple(range(arity)))], [arity], x.shape))
        (ours,) = minima([run])
        show(f"{op}, 512 elements", 512, "elem", ours - empty)
        del alive


if __name__ == "__main__":
    main()
