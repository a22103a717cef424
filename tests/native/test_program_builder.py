"""The program builder: any graph of maps, products, reductions and movements computes what NumPy does.

Values are small integers, so that every order of adding gives the same bits and only the wiring is tested.
"""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from samebits import bits, order
from samebits._errors import NativeError
from samebits.native._conv_step import Spatial
from samebits.native._program import Program
from samebits.native._run import CompiledProgram
from samebits.order._window_shape import windows

SHAPES = [(), (1,), (3,), (2, 3), (3, 2), (4, 1, 3), (2, 2, 3)]


def run(program, outputs, arguments):
    return CompiledProgram(program.words(outputs), [(v.shape, v.dtype) for v in outputs])(*arguments)


@st.composite
def graphs(draw):
    """(program, arguments, [(view, array)]): the same random graph natively and in NumPy."""
    program, rng = Program(), np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    pool, arguments = [], []
    for shape in draw(st.lists(st.sampled_from(SHAPES), min_size=1, max_size=3)):
        array = rng.integers(-2, 3, shape).astype(np.float32)
        pool.append((program.argument("float32", shape), array))
        arguments.append(array)
    for _ in range(draw(st.integers(1, 10))):
        view, array = draw(st.sampled_from(pool))
        kind = draw(
            st.sampled_from(
                ["add", "mul", "max", "neg", "const", "dot", "outer", "sum", "move", "flip", "cat", "cumsum"]
            )
        )
        if np.abs(array).max(initial=0) > 2**18:
            continue
        if kind in ("add", "mul", "max"):
            same = [(v, a) for v, a in pool if a.shape == array.shape]
            v, a = draw(st.sampled_from(same))
            f = {"add": np.add, "mul": np.multiply, "max": np.maximum}[kind]
            if np.abs(a).max(initial=0) <= 2**4 or kind != "mul":
                pool.append((program.map(kind, view, v), f(array, a)))
        elif kind == "neg":
            pool.append((program.map("neg", view), -array))
        elif kind == "const":
            pool.append((program.map("add", view, program.constant(2, "float32")), array + 2))
        elif kind == "dot" and array.ndim:
            n = array.ndim
            out = program.dot(view, view, ([n - 1], [n - 1]), ([], []), "float32")
            if np.abs(array).max(initial=0) < 2**8:
                pool.append((out, np.tensordot(array, array, ([n - 1], [n - 1]))))
        elif kind == "outer" and array.ndim >= 2 and np.abs(array).max(initial=0) < 2**8:
            out = program.dot(view, view, ([1], [1]), ([0], [0]), "float32")
            wanted = np.stack([np.tensordot(a, a, ([0], [0])) for a in array])
            pool.append((out, wanted))
        elif kind == "sum" and array.ndim:
            axes = [i for i in range(array.ndim) if draw(st.booleans())] or [0]
            pool.append((program.reduce("sum", view, axes), array.sum(tuple(axes))))
        elif kind == "move" and array.ndim:
            order = draw(st.permutations(range(array.ndim)))
            pool.append((view.transpose(order), array.transpose(order)))
        elif kind == "flip" and array.ndim:
            pool.append((program.reshape(view.reverse([0]), (array.size,)), np.flip(array, 0).reshape(-1)))
        elif kind == "cat" and array.ndim:
            strides = (1,) if array.ndim == 1 else None
            if strides:
                pieces = [(view, 0, strides), (view, array.size, strides)]
                pool.append((program.join("float32", (2 * array.size,), pieces), np.concatenate([array, array])))
        elif kind == "cumsum" and array.ndim:
            pool.append((program.cumulative("sum", view, array.ndim - 1), np.cumsum(array, -1, dtype=np.float32)))
    outputs = draw(st.lists(st.sampled_from(pool), min_size=1, max_size=4))
    return program, arguments, outputs


@settings(max_examples=300, deadline=None)
@given(graphs())
def test_any_graph_computes_what_numpy_does(graph):
    program, arguments, outputs = graph
    for got, (view, wanted) in zip(run(program, [v for v, _ in outputs], arguments), outputs, strict=True):
        assert got.shape == view.shape
        np.testing.assert_array_equal(got, wanted.astype(np.float32))


def test_equal_nodes_are_one():
    program = Program()
    x = program.argument("float32", (4,))
    assert program.map("add", x, x).node is program.map("add", x, x).node


def test_elementwise_nodes_of_one_shape_become_one_map():
    program = Program()
    x = program.argument("float32", (4,))
    y = x
    for op in ("exp", "tanh", "neg", "abs"):
        y = program.map(op, y)
    words = program.words([y])
    assert words[4] == 1


def test_a_product_read_transposed_is_written_transposed():
    program = Program()
    a, b = program.argument("float32", (3, 5)), program.argument("float32", (7, 5))
    out = program.dot(a, b, ([1], [1]), ([], []), "float32").transpose([1, 0])
    words = program.words([program.map("neg", out)])
    assert words[4] == 2  # a product and a map; no copy
    x, y = (np.random.default_rng(0).integers(-3, 4, s).astype(np.float32) for s in ((3, 5), (7, 5)))
    (got,) = run(program, [program.map("neg", out)], [x, y])
    np.testing.assert_array_equal(got, -(x @ y.T).T)


def test_narrow_floats_are_computed_in_float32():
    import ml_dtypes

    program = Program()
    x = program.argument("bfloat16", (3,))
    (got,) = run(program, [program.map("mul", x, x)], [np.array([1.5, 3, 257], ml_dtypes.bfloat16)])
    np.testing.assert_array_equal(got, np.array([2.25, 9, 65536], ml_dtypes.bfloat16))


def test_what_cannot_be_is_refused():
    program = Program()
    x = program.argument("float32", (2,) * 9)
    with pytest.raises(NativeError, match="no operation 'frobnicate'"):
        program.map("frobnicate", program.reshape(x, (512,)))
    with pytest.raises(NativeError, match=r".+"):
        CompiledProgram(np.arange(10), [])


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "float16"])
def test_a_product_of_one_term_is_the_dot_rule(dtype):
    """It runs as a map; bits as samebits.order.dot_general, zeros, infinities and NaNs included (DOT-3, DOT-5)."""
    import ml_dtypes  # noqa: F401

    from samebits import order

    special = np.array([0.0, -0.0, 1e-45, -1e-30, 1.5, -3.0, np.inf, np.nan], np.float64)
    a = np.stack([special, special[::-1], special * 7])[:, :, None].astype(dtype)
    b = np.stack([special[:5], -special[:5], special[3:]]).astype(dtype)
    program = Program()
    x, y = program.argument(dtype, a.shape), program.argument(dtype, (3, 1, 5))
    out = program.dot(x, y, ([2], [1]), ([0], [0]), dtype)
    (got,) = run(program, [out], [a, b])
    wanted = order.dot_general(a, b.reshape(3, 1, 5), ([2], [1]), ([0], [0]))
    assert got.tobytes() == wanted.tobytes()
    assert program.words([out])[4] == 1  # one step


def test_windows_top_k_segments_and_logsumexp_as_steps():
    """The steps of their own kinds, on views; one of top-k's two values may go unused."""
    rng = np.random.default_rng(0)
    x, rows = rng.standard_normal((6, 9)).astype(np.float32), rng.standard_normal((5, 4)).astype(np.float32)
    ids = np.array([2, 0, 2, 9, 1], np.int32)
    program = Program()
    a, b, i = (
        program.argument("float32", x.shape),
        program.argument("float32", rows.shape),
        program.argument("int32", (5,)),
    )
    w = windows("test", x.T.shape, (2, 3), 2, ((1, 0), (0, 1)))
    pooled = program.window("sum", a.transpose([1, 0]), w)
    values, at = program.top_k(a.transpose([1, 0]), 3, 0, True, "int32")
    _, least = program.top_k(program.map("neg", a), 2, 1, False, "int64")
    zeros = program.copy(program.constant(0, "float32").broadcast((3, 4), ()))
    sums = program.scatter("sum", zeros, i, b)
    logs = program.cumulative("logsumexp", a, 1)
    outputs = [program.map("add", pooled, pooled), values, at, least, sums, logs, program.window("argmax", a, windows(
        "test", x.shape, 2), "int64")]  # fmt: skip
    wanted = [
        2 * order.window_sum(x.T, (2, 3), 2, ((1, 0), (0, 1))),
        *(np.moveaxis(v, 0, -1) for v in order.top_k(x.T, 3, 0, dtype="int32")),
        order.top_k(-x, 2, 1, False)[1],
        order.segment_sum(rows, ids, 3),
        order.cumlogsumexp(x, 1),
        order.window_argmax(x, 2),
    ]
    for got, want in zip(run(program, outputs, [x, rows, ids]), wanted, strict=True):
        assert bits.same(got, want)


@pytest.mark.parametrize(("out_axes", "layout"), [((0, 1, 2), "NCW"), ((0, 2, 1), "NWC"), ((2, 1, 0), "WCN")])
def test_a_convolution_of_a_transposed_product(out_axes, layout):
    """The product is written in the order in which the convolution reads it, and this one in that of its result."""
    rng = np.random.default_rng(0)
    a, b, kernel = (rng.standard_normal(s).astype(np.float32) for s in ((11, 5), (8, 5), (6, 3, 4)))
    program = Program()
    x, y, w = (program.argument("float32", v.shape) for v in (a, b, kernel))
    image = program.dot(x, y, ([1], [1]), ([], []), "float32").transpose([1, 0])  # [channels, width]
    image, w = program.reshape(image, (1, 2, 4, 11)), w.transpose([0, 2, 1])
    made = program.conv(
        image, program.reshape(w, (2, 3, 4, 3)), out_axes, Spatial((2,), (1,), (1,), (2,), (5,)), "float32"
    )
    (got,) = run(program, [made], [a, b, kernel])
    wanted = order.conv(order.matmul(a, b.T).T[None], kernel.transpose(0, 2, 1), 2, 1, rhs_dilation=2, groups=2)
    assert bits.same(got, np.ascontiguousarray(wanted.transpose(["NCW".index(c) for c in layout])))


SHAPE, STRIDE, WINDOW, STEP, LOW, BASE, SPREAD, OUT = (4 + 8 * i for i in range(8))
"""Where rows of sb_window_desc begin."""


@pytest.mark.parametrize(("word", "value", "message"), [
    (0, 8, "operation 8 of dtype"), (1, 99, "is no dtype"), (3, 9, "rank is 9"), (SHAPE, 1 << 40, "reaches from byte"),
    (STRIDE, -4, "reaches from byte"), (WINDOW, 0, "each is 1 or more"), (STEP, -1, "each is 1 or more"),
    (LOW, 1 << 62, "do not fit"), (BASE, 0, "each is 1 or more"), (SPREAD, 1 << 62, "do not fit"),
    (WINDOW, 1 << 30, "more than 16777216 positions"), (OUT, 9, "reaches from byte"),
])  # fmt: skip
def test_hostile_windows_are_refused(word, value, message):
    program = Program()
    words = program.words([program.window("sum", program.argument("float32", (4, 4)), windows("test", (4, 4), 2))])
    words[words.tolist().index(7) + 7 + word] = value
    with pytest.raises(NativeError, match=message):
        CompiledProgram(words, [((3, 3), "float32")])(np.ones((4, 4), np.float32))


@pytest.mark.parametrize(("word", "value", "message"), [
    (0, 5, "has no rule"), (0, 77, "is no dtype"), (1, 11, "ask for int32 or int64"), (2, 2, "0 and 1|0 or 1"),
    (3, 5, "k = 5 of 4"), (3, -1, "k = -1 of 4"), (4, 9, "rank is 9"), (5, 50, "reaches from byte"),
    (21, 1 << 40, "reaches from byte"),
])  # fmt: skip
def test_hostile_top_k_is_refused(word, value, message):
    program = Program()
    words = program.words(program.top_k(program.argument("float32", (4, 4)), 2, 1, True, "int32"))
    words[words.tolist().index(8, 8) + 9 + word] = value
    with pytest.raises(NativeError, match=message):
        CompiledProgram(words, [((4, 2), "float32"), ((4, 2), "int32")])(np.ones((4, 4), np.float32))


def test_what_is_asked_for_twice_is_computed_once():
    """Joins, products and sums over the same operands are one node each; results are still buffers of their own."""
    program = Program()
    x = program.argument("float32", (2, 3))

    def ask():
        both = program.join("float32", (4, 3), [(x, 0, (3, 1)), (x, 6, (3, 1))])
        return both, program.dot(both, x, ((1,), (1,)), ((), ()), "float32"), program.reduce("sum", both, (0,))

    first, second = ask(), ask()
    assert all(a.node is b.node for a, b in zip(first, second, strict=True))
    assert program.reduce("max", first[0], (0,)).node is not first[2].node
    a = np.arange(6, dtype=np.float32).reshape(2, 3)
    both = np.concatenate([a, a])
    wanted = (both, both @ a.T, both.sum(0))
    views = [*first, *second, *first, x, x, x.transpose((1, 0))]
    outs = run(program, views, [a])
    for out, want in zip(outs, (*wanted, *wanted, *wanted, a, a, a.T), strict=True):
        assert np.array_equal(out, want)


def test_what_may_be_written_in_place():
    """Only a map's result, and only of an argument that it alone reads, in the order of the result."""
    program = Program()
    a, b, c, d, e = (program.argument("float32", (3, 3)) for _ in range(5))
    outs = [
        program.map("add", a, b.transpose((1, 0))),
        program.map("mul", c, program.dot(c, b, ((1,), (0,)), ((), ()), "float32")),
        program.map("lt", d, a.broadcast((3, 3), (0, 1))),
        program.map("neg", e),
        program.copy(e),
    ]
    program.words(outs)
    assert program.in_place == {(0, 0), (0, 3), (3, 0), (3, 3)}, "b is transposed, c and e are read elsewhere too"
    again = Program()
    a, b, c = (again.argument("float32", shape) for shape in ((3, 3), (3, 1), (3, 3)))
    outs = [again.map("add", a, b), again.map("lt", a, c), again.map("mul", a, a)]
    again.words(outs)
    assert again.in_place == {(0, 0), (0, 2), (2, 0), (2, 2)}
