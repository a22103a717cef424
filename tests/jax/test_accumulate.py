"""samebits.jax.accumulate and Accumulator on one device: the bits of samebits.order, whatever the portions (ACC-*)."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import samebits.jax as sj
from samebits import order
from tests.jax.programs import bits, normal

W = normal(5, 9, seed=1)
SIZES = (1, 2, 3, 7, 8, 17, 33, 64, 100)


def loss(w, example):
    x, y = example
    return jnp.sum(jnp.tanh(x @ w) - y) ** 2


def examples(n):
    return normal(n, 5, seed=n), normal(n, seed=n + 1)


def each_alone(f, w, batch):
    """f of one example at a time, then the reference's sum."""
    g = jax.jit(sj.invariant(f))
    rows = [g(w, jax.tree_util.tree_map(lambda a, i=i: a[i], batch)) for i in range(len(batch[0]))]
    return jax.tree_util.tree_map(lambda *r: order.accumulate(np.stack(list(map(np.asarray, r))), 0), *rows)


@pytest.mark.parametrize("rows", SIZES)
def test_micro_batches_do_not_matter(rows):
    step, batch = jax.value_and_grad(loss), examples(rows)
    want = bits(each_alone(step, W, batch))
    for micro in (None, 1, 3, 4, 16, 1000):
        assert bits(sj.accumulate(step, (None, 0), microbatch=micro)(W, batch)) == want, micro


def test_stock_micro_batches_do():
    """Negative control: stock JAX's gradient of a mean depends on how the batch was cut."""
    batch = examples(64)
    g = jax.jit(jax.grad(lambda w, b: jnp.sum(jax.vmap(loss, (None, 0))(w, b))))
    found = set()
    for size in (8, 16, 64):
        parts = [jax.tree_util.tree_map(lambda a, i=i, n=size: a[i : i + n], batch) for i in range(0, 64, size)]
        found.add(str(bits(sum(g(W, p) for p in parts))))
    assert len(found) > 1


def test_it_composes():
    batch = examples(12)
    f = sj.accumulate(jax.grad(loss), (None, 0), microbatch=4)
    want = bits(f(W, batch))
    assert bits(jax.jit(f)(W, batch)) == want
    assert bits(sj.invariant(f)(W, batch)) == want
    both = jax.vmap(f, (0, None))(jnp.stack([W, W * 2]), batch)
    assert bits(both[0]) == want
    assert bits(lax.map(lambda w: f(w, batch), W[None])[0]) == want
    three = jax.tree_util.tree_map(lambda a: a.reshape(3, 4, *a.shape[1:]), batch)
    named = sj.accumulate(jax.grad(loss), (None, 0), axis_name="d")
    assert bits(jax.vmap(named, (None, 0), out_axes=None, axis_name="d")(W, three)) == want


def test_in_axes_dtypes_and_results():
    x = normal(6, 10)
    rows = np.asarray(x.T)
    assert bits(sj.accumulate(lambda r: r, 1)(x)) == bits(order.accumulate(rows, 0))
    assert bits(sj.accumulate(lambda r: {"r": r}, -1)(x)["r"]) == bits(order.accumulate(rows, 0))
    for dtype in ("float16", "bfloat16"):
        narrow = rows.astype(jnp.dtype(dtype))
        for micro in (None, 2):  # added in float32 and rounded once
            out = sj.accumulate(lambda r: r, microbatch=micro)(narrow)
            assert bits(out) == bits(order.accumulate(narrow, 0))
    z = (rows + 1j * rows[::-1]).astype(np.complex64)
    for micro in (None, 2):  # by parts (CPX-11)
        assert bits(sj.accumulate(lambda r: r, microbatch=micro)(z)) == bits(order.accumulate(z, 0))
    assert bits(sj.Accumulator.zeros(z[0], 16, unit=2).add(z).total()) == bits(order.accumulate(z, 0))
    counted = sj.accumulate(lambda r: (r > 0).astype(jnp.int32))(rows)
    assert bits(counted) == bits((rows > 0).sum(0, dtype=np.int32))
    assert bits(sj.accumulate(lambda r, c: r * 0 + c, (0, None))(rows, 0.1)) == bits(
        order.accumulate(np.full((10, 6), 0.1, np.float32), 0)
    )
    assert bits(sj.accumulate(lambda r: jnp.float32(0.1))(rows)) == bits(order.accumulate(np.full(10, 0.1, "f"), 0))
    assert bits(sj.accumulate(lambda r: -r)(rows[:0])) == bits(np.zeros(6, np.float32))
    special = np.array([[-0.0, np.nan, np.inf, 1e-45]] * 3, np.float32)
    assert bits(sj.accumulate(lambda r: r, microbatch=1)(special)) == bits(order.accumulate(special, 0))


def test_memory_is_bounded_by_the_micro_batch():
    """The largest array of the rewritten program has as many rows as the micro-batch."""
    gradient = jax.grad(lambda w, r: jnp.sum(jnp.tanh(r @ w)))
    args = normal(64, 64), normal(1024, 64)
    whole, micro = (
        jax.jit(sj.accumulate(gradient, (None, 0), microbatch=m)).lower(*args).compile() for m in (None, 16)
    )
    assert "f32[1024,64,64]" not in (whole.as_text() or "")  # even these are summed as they are made
    assert "f32[16,64,64]" not in (micro.as_text() or "")
    text = jax.jit(jax.vmap(sj.invariant(gradient), (None, 0))).lower(*args).compile().as_text() or ""
    assert "f32[1024,64,64]" in text  # the control: an array of all rows is seen


def test_errors():
    batch = examples(4)
    with pytest.raises(ValueError, match="a microbatch of 1 row or more, or None for all; got 0"):
        sj.accumulate(loss, microbatch=0)
    with pytest.raises(TypeError, match=r"got 1.5, which is no int"):
        sj.accumulate(loss, microbatch=1.5)  # pyright: ignore[reportArgumentType]
    with pytest.raises(TypeError, match="axis_name as names of axes; got 3, a position"):
        sj.accumulate(loss, axis_name=("d", 3))
    with pytest.raises(ValueError, match=r"got axis 7 in in_axes for an argument of shape \(4, 5\)"):
        sj.accumulate(jnp.sum, 7)(batch[0])
    with pytest.raises(ValueError, match=r"a prefix of its arguments, .* got \(0,\)"):
        sj.accumulate(loss, (0,))(W, batch)
    with pytest.raises(ValueError, match="one number of examples, got 3, 4 of them"):
        sj.accumulate(loss, (None, 0))(W, (batch[0], batch[1][:3]))
    with pytest.raises(ValueError, match="one number of examples, got none"):
        sj.accumulate(loss, None)(W, batch)
    with pytest.raises(TypeError, match=r"adds numbers; f returned bool\[5\]"):
        sj.accumulate(lambda x: x > 0)(batch[0])
    with pytest.raises(TypeError, match=r"accumulate the derivative instead: accumulate\(jax.grad\(f\), in_axes\)"):
        jax.grad(lambda w: sj.accumulate(loss, (None, 0))(w, batch))(W)


# ---- Accumulator ----


@pytest.mark.parametrize(
    ("unit", "portions"),
    [(1, (77,)), (1, (1, 2, 3, 70, 1)), (4, (4, 8, 64, 1)), (16, (64, 13)), (32, (32, 32, 13)), (128, (77,))],
)
def test_portions_do_not_matter(unit, portions):
    x = {"a": np.asarray(normal(77, 5)), "b": np.asarray(normal(77).astype(jnp.bfloat16))}
    a = sj.Accumulator.zeros(jax.tree_util.tree_map(lambda v: v[0], x), 100, unit)
    add, start = jax.jit(sj.Accumulator.add), 0
    for size in portions:
        a = add(a, jax.tree_util.tree_map(lambda v, s=start, n=size: v[s : s + n], x))
        start += size
    assert start == 77
    assert bits(a.total()) == bits(jax.tree_util.tree_map(lambda v: order.accumulate(v, 0), x))


def test_an_accumulator_at_each_size():
    x, a = np.asarray(normal(20, 3)), sj.Accumulator.zeros(np.zeros(3, np.float32), 20)
    assert bits(a.total()) == bits(np.zeros(3, np.float32))
    for i in range(20):
        a = a.add(x[i : i + 1])
        assert bits(a.total()) == bits(order.accumulate(x[: i + 1], 0)), i


def test_errors_of_an_accumulator():
    row = np.ones(2, np.float32)
    with pytest.raises(ValueError, match="a unit that is a power of two, and rows; got 3 and 10"):
        sj.Accumulator.zeros(row, 10, 3)
    a = sj.Accumulator.zeros(row, 3, 2)
    with pytest.raises(ValueError, match="got 3 rows, but its unit is 2"):
        a.add(np.ones((3, 2), np.float32))
    with pytest.raises(ValueError, match=r"m rows of shapes \[\(2,\)\], got \[\(2, 3\)\]"):
        a.add(np.ones((2, 3), np.float32))
    with pytest.raises(ValueError, match="1 more rows after a portion shorter than its unit, 2"):
        a.add(row[None]).add(row[None])
    with pytest.raises(ValueError, match="takes rows in"):
        a.add([row[None]])
    with pytest.raises(TypeError, match="rows of int32 for sums in float32; convert them"):
        a.add(np.ones((2, 2), np.int32))
    with pytest.raises(TypeError, match="adds numbers, not bool"):
        sj.Accumulator.zeros(np.ones(2, bool), 3)
    with pytest.raises(ValueError, match="take a larger unit"):
        sj.Accumulator.zeros(row, 2**31)
    with pytest.raises(ValueError, match="a row of one array or more"):
        sj.Accumulator.zeros({}, 3)
    with pytest.raises(TypeError, match=r"got 2.5, which is no int"):
        sj.Accumulator.zeros(row, 2.5)  # pyright: ignore[reportArgumentType]
    assert np.isnan(a.add(np.ones((8, 2), np.float32)).total()).all()  # more than it has room for


@pytest.mark.parametrize("number", [np.int64(2), jnp.int32(2)])
def test_numbers_of_rows_are_any_integers(number):
    batch = normal(5, 3)
    assert bits(sj.accumulate(jnp.sin, microbatch=number)(batch)) == bits(sj.accumulate(jnp.sin)(batch))
    filled = sj.Accumulator.zeros(batch[0], jnp.int32(5), number).add(batch[:4]).add(batch[4:])
    assert bits(filled.total()) == bits(sj.accumulate(lambda x: x)(batch))
