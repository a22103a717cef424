"""Fused rows and their gradients: reference = each instruction set, bit for bit (clauses ROW-*)."""

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from samebits import bits, native, order
from samebits.order import _row_calls as calls
from samebits.order._row_value import Value

DTYPES = [np.float32, np.float64, ml_dtypes.bfloat16, np.float16]
LENGTHS = [0, 1, 2, 3, 7, 8, 15, 16, 17, 31, 33, 64, 100, 255, 256, 257, 1000]


def operands(numbers, name, seed, rows, n, dtype, special=0.0):
    """Arguments of a function on rows, and its keywords."""
    x, u = numbers(seed, (rows, n), dtype, special), numbers(seed + 1, (rows, n), dtype, special)
    each = numbers(seed + 2, rows, dtype, special)
    g, b = numbers(seed + 3, n, dtype), numbers(seed + 4, n, dtype)
    label = np.random.default_rng(seed).integers(0, max(n, 1), rows)
    probabilities = np.abs(numbers(seed + 5, (rows, n), dtype))
    base = name.removesuffix("_vjp").removesuffix("_p")
    u = each if base in ("logsumexp", "cross_entropy") else u
    vjp = name.endswith("_vjp")
    if base == "cross_entropy":
        return [x, probabilities if "_p" in name.removesuffix("_vjp")[-2:] else label, *[u] * vjp]
    if base == "layer_norm":
        return [x, u, g] if vjp else [x, g, b]
    if base == "rms_norm":
        return [x, u, g] if vjp else [x, g]
    return [x, *[u] * vjp]


def function(name):
    return "cross_entropy_vjp" if name == "cross_entropy_p_vjp" else name.removesuffix("_p")


FORWARD = ["softmax", "log_softmax", "logsumexp", "cross_entropy", "cross_entropy_p", "layer_norm", "rms_norm", "gelu",
           "silu"]  # fmt: skip
NAMES = [*FORWARD, *(f"{n}_vjp" for n in FORWARD)]


def results(found):
    return found if isinstance(found, tuple) else (found,)


def check(children, name, arguments, expected=None, flush=False, **keywords):
    """Every child gives the reference's bits, of each result."""
    wanted = results(getattr(order, name)(*arguments, **keywords) if expected is None else expected)
    for child in children:
        got = results(child(name, *arguments, flush=flush, **keywords))
        same = [bits.same(a, b) for a, b in zip(got, wanted, strict=True)]
        shapes = [f"{np.asarray(a).dtype}{list(np.shape(a))}" for a in arguments]
        assert all(same), (child.label, name, shapes, keywords, same)
    return wanted


@settings(max_examples=120, deadline=None)
@given(name=st.sampled_from(NAMES), dtype=st.sampled_from(DTYPES), rows=st.sampled_from([0, 1, 2, 3, 17, 40]),
       n=st.sampled_from(LENGTHS), special=st.sampled_from([0, 0, 0.01, 0.2]), seed=st.integers(0, 99),
       flush=st.booleans())  # fmt: skip
def test_rows(children, numbers, name, dtype, rows, n, special, seed, flush):
    rows = 0 if n == 0 and "cross_entropy" in name else rows
    arguments = operands(numbers, name, seed, rows, n, dtype, special)
    check(children, function(name), arguments, flush=flush)


@pytest.mark.parametrize("dtype", DTYPES)
def test_gelu_by_erfc(children, numbers, dtype):
    """ROW-10."""
    for n in (1, 17, 257, 1000):
        x, u = numbers(n, (2, n), dtype), numbers(n + 1, (2, n), dtype)
        by_erfc = check(children, "gelu", [x], approximate=False)
        check(children, "gelu_vjp", [x, u], approximate=False)
    assert not bits.same(by_erfc[0], order.gelu(x))


@settings(max_examples=60, deadline=None)
@given(name=st.sampled_from(["softmax", "log_softmax", "logsumexp", "softmax_vjp"]), dtype=st.sampled_from(DTYPES),
       shape=st.lists(st.sampled_from([0, 1, 2, 3, 5, 17]), min_size=1, max_size=4), permutation=st.randoms(),
       seed=st.integers(0, 99))  # fmt: skip
def test_any_axis_in_any_layout(children, numbers, name, dtype, shape, permutation, seed):
    axes = list(range(len(shape)))
    permutation.shuffle(axes)
    x = numbers(seed, shape, dtype, 0.02).transpose(axes)[::-1]
    arguments = [x, numbers(seed + 1, x.shape, dtype)] if name.endswith("vjp") else [x]
    axis = permutation.randrange(x.ndim)
    check(children, name, arguments, axis=axis - permutation.choice([0, x.ndim]))


@settings(max_examples=40, deadline=None)
@given(dtype=st.sampled_from(DTYPES), batch=st.sampled_from([0, 1, 2, 5]), groups=st.sampled_from([1, 2, 3]),
       each=st.sampled_from([1, 2, 5]), space=st.sampled_from([(), (1,), (7,), (5, 4)]), scaled=st.booleans(),
       bias=st.booleans(), last=st.booleans(), seed=st.integers(0, 99))  # fmt: skip
def test_group_norm(children, numbers, dtype, batch, groups, each, space, scaled, bias, last, seed):
    c = groups * each
    shape = (batch, c, *space)
    x, u = numbers(seed, shape, dtype, 0.01), numbers(seed + 1, shape, dtype)
    if last:  # channels last, as [B, C, ...]
        x = np.moveaxis(np.ascontiguousarray(np.moveaxis(x, 1, -1)), -1, 1)
    wide = np.float64 if dtype == np.float64 else np.float32
    g = numbers(seed + 2, c, wide) if scaled else None
    b = numbers(seed + 3, c, dtype) if bias else None
    check(children, "group_norm", [x, groups, g, b], eps=1e-3)
    check(children, "group_norm_vjp", [x, u, groups, g], bias=bias)


@settings(max_examples=40, deadline=None)
@given(dtype=st.sampled_from(DTYPES), shape=st.sampled_from([(2,), (3, 10), (2, 3, 64), (4, 5, 2, 34)]),
       interleaved=st.booleans(), seed=st.integers(0, 99))  # fmt: skip
def test_rotary(children, numbers, dtype, shape, interleaved, seed):
    table = (*shape[-2:-1], shape[-1] // 2)
    x, cos, sin = numbers(seed, shape, dtype, 0.01), numbers(seed + 1, table, dtype), numbers(seed + 2, table, dtype)
    for name in ("rotary", "rotary_vjp"):
        check(children, name, [x, cos, sin], interleaved=interleaved)
    if len(shape) == 4:  # positions before heads: tables with an axis of size one
        check(children, "rotary", [x, cos[:1], sin[:1]], interleaved=interleaved)


@pytest.mark.parametrize("dtype", DTYPES)
def test_rows_of_infinities_and_nans(children, dtype):
    row = np.array([1, 2, 3], dtype)
    x = np.stack([row, row, row, row, row])
    x[0], x[1, 1], x[2, 1], x[3, 1] = -np.inf, np.inf, np.nan, -np.inf
    (y,) = check(children, "softmax", [x])
    assert np.isnan(y[:3]).all()
    assert y[3, 1] == 0
    (lse,) = check(children, "logsumexp", [x])
    assert np.isneginf(lse[0])
    assert np.isposinf(lse[1])
    assert np.isnan(lse[2])
    for name in ("log_softmax", "layer_norm", "rms_norm", "gelu", "silu"):
        check(children, name, [x])
    for name in ("softmax_vjp", "log_softmax_vjp", "layer_norm_vjp", "rms_norm_vjp", "gelu_vjp", "silu_vjp"):
        check(children, name, [x, x])


# ---- the same in blocks of rows ----


class Separate:
    """Operations of `samebits.native`, one call each: what a fused program must equal at any size."""

    def __init__(self, dtype, inner=1, row=1, summed=()):
        self.dtype, self.inner, self.row, self.summed = np.dtype(dtype), inner, row, summed

    def constant(self, value):
        return np.array(value, self.dtype)

    def map(self, name, *arrays, exponent=0):
        return native.apply(name, *arrays, exponent=exponent if name == "integer_pow" else None)

    def reduce(self, name, x):
        return getattr(native, name)(x, axis=tuple(range(-self.row, 0)), keepdims=True)

    def total(self, x):
        return native.sum(x, axis=(*range(x.ndim - self.inner), *(x.ndim + i for i in self.summed)))

    def length(self, x):
        return int(np.prod(x.shape[x.ndim - self.row :]))

    def pair(self, first, second, interleaved):
        raise NotImplementedError


def separate(name, *arguments, **keywords):
    call = getattr(calls, name)(*arguments, **keywords)
    work = np.float64 if call.dtypes[0] == np.float64 else np.float32
    operations = Separate(work, call.inner, call.row, call.summed)

    def enter(a):
        return a if a.dtype.kind == "i" else native.apply("convert", a, dtype=work)

    made = call.rule(*(None if a is None else Value(operations, enter(a)) for a in call.arrays), *call.parameters)
    values = made if isinstance(made, tuple) else (made,)
    results = zip(values, call.dtypes, call.finish, strict=True)
    return tuple(f(native.apply("convert", v.array, dtype=d)) for v, d, f in results)


SHAPES = [(20_000, 10), (3_001, 64), (401, 576), (50, 4096), (17, 20_000)]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_blocks_of_rows_move_no_bit(children, numbers, name, shape):
    seed, (rows, n) = SHAPES.index(shape) + NAMES.index(name), shape
    dtype = ml_dtypes.bfloat16 if (seed + len(name)) % 4 == 0 else np.float32
    arguments = operands(numbers, name, seed, rows, n, dtype, 1e-4)
    check(children[-2:], function(name), arguments, expected=separate(function(name), *arguments))


def test_blocks_of_rows_of_other_layouts(children, numbers):
    x, u = numbers(0, (90, 31, 70), np.float32), numbers(1, (90, 31, 70), np.float32)
    for name, arguments in (("softmax", [x]), ("log_softmax", [x[:, ::-1]]), ("softmax_vjp", [x, u]),
                            ("logsumexp", [np.asfortranarray(x)])):  # fmt: skip
        for axis in range(3):
            expected = separate(name, *arguments, axis=axis)
            check(children[-2:], name, arguments, expected=expected, axis=axis)
    x, u = numbers(2, (30, 12, 9, 60), np.float32), numbers(3, (30, 12, 9, 60), np.float32)
    g, b = numbers(4, 12, np.float32), numbers(5, 12, np.float32)
    check(children[-2:], "group_norm", [x, 4, g, b], expected=separate("group_norm", x, 4, g, b))
    check(children[-2:], "group_norm_vjp", [x, u, 4, g], expected=separate("group_norm_vjp", x, u, 4, g))


# ---- a row's bits are its own ----


@pytest.mark.parametrize("name", FORWARD)
def test_a_row_does_not_see_its_batch(numbers, name):
    x, *rest = operands(numbers, name, 5, 1000, 100, np.float32)
    per_row = "cross_entropy" in name
    f = getattr(native, function(name))
    whole = f(x, *rest)
    for rows in (slice(0, 1), slice(7, 8), slice(3, 20), slice(0, 999), slice(999, 1000), slice(None, None, -3)):
        part = [a[rows] for a in rest] if per_row else rest
        assert bits.same(f(x[rows], *part), whole[rows]), rows
    if not rest:
        spread = np.zeros((1000, 200), np.float32)
        spread[:, ::2] = x
        assert bits.same(f(spread[:, ::2]), whole)
        assert bits.same(f(np.asfortranarray(x)), whole)


def test_negative_control_rows_in_numpy_see_their_layout(numbers):
    """NumPy's sum adds in another order where the row is strided, and its softmax moves with it."""
    x = numbers(0, (100, 600), np.float32)

    def softmax(x):
        e = np.exp(x - x.max(-1, keepdims=True))
        return e / e.sum(-1, keepdims=True)

    assert not bits.same(softmax(np.asfortranarray(x)), softmax(x))
    assert bits.same(native.softmax(np.asfortranarray(x)), native.softmax(x))


# ---- what is refused ----


def test_errors_say_what_to_do(numbers):
    x = numbers(0, (3, 4), np.float32)
    for module in (native, order):
        with pytest.raises(TypeError, match="softmax takes float16, bfloat16, float32 or float64, got int64"):
            module.softmax(np.arange(3))
        with pytest.raises(ValueError, match="at least one axis"):
            module.softmax(np.float32(3))
        with pytest.raises(np.exceptions.AxisError):
            module.softmax(x, axis=2)
        with pytest.raises(TypeError, match=r"gradient is float64\[3, 4\], but x is float32\[3, 4\]"):
            module.softmax_vjp(x, x.astype(np.float64))
        with pytest.raises(ValueError, match="labels run from 0 to 4; with rows of 4 they are 0 to 3"):
            module.cross_entropy(x, np.array([0, 4, 1]))
        with pytest.raises(ValueError, match=r"labels have shape \(2,\)"):
            module.cross_entropy(x, np.array([0, 1]))
        with pytest.raises(TypeError, match="give integers, one for each row"):
            module.cross_entropy(x, x.astype(np.float64))
        with pytest.raises(ValueError, match=r"g has shape \(3,\) where \(4,\) is wanted"):
            module.layer_norm(x, x[:, 0])
        with pytest.raises(TypeError, match="b is float64, but x is float32"):
            module.layer_norm(x, None, np.ones(4))
        with pytest.raises(ValueError, match="2 groups of 3 channels"):
            module.group_norm(numbers(0, (2, 3, 4), np.float32), 2)
        with pytest.raises(ValueError, match="must be even"):
            module.rotary(x[:, :3], x, x)
        with pytest.raises(ValueError, match=r"does not broadcast to the pairs \(3, 2\)"):
            module.rotary(x, x, x)
