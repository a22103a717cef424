"""attention: reference = each instruction set, bit for bit (clauses ATT-*); what must not move its bits does not."""

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from samebits import bits, native, order

DTYPES = [np.float32, np.float64, ml_dtypes.bfloat16, np.float16]
LENGTHS = st.sampled_from([1, 2, 3, 7, 16, 17, 33, 64, 100, 255, 256, 257, 300, 600])


@st.composite
def attentions(draw):
    """Shapes of q, k, v and keywords; bias and mask as shapes that broadcast."""
    batch, kv_heads, group = draw(st.integers(1, 3)), draw(st.integers(1, 2)), draw(st.sampled_from([1, 1, 2, 3]))
    keys = draw(LENGTHS)
    queries = draw(st.sampled_from([1, 1, 2, 3, 5] if keys > 100 else [1, 2, 5, 9, 33]))
    dim, v_dim = draw(st.sampled_from([(1, 1), (4, 4), (16, 16), (8, 33), (64, 3), (3, 64)]))
    heads = kv_heads * group
    keywords: dict = {}
    if draw(st.booleans()):
        keywords |= {"causal": True, "offset": draw(st.sampled_from([0, keys - queries, 3, -1]))}
    if draw(st.integers(0, 3)) == 0:
        keywords["window"] = draw(st.sampled_from([1, 3, 40, 257]))
    if draw(st.integers(0, 3)) == 0:
        keywords["lengths"] = draw(st.lists(st.integers(0, keys), min_size=batch, max_size=batch))
    if draw(st.integers(0, 3)) == 0:
        keywords["starts"] = draw(st.lists(st.integers(0, keys), min_size=batch, max_size=batch))
    if draw(st.integers(0, 3)) == 0:
        keywords["scale"] = draw(st.sampled_from([1.0, 0.3, -2.0, 0.0]))
    full = batch, heads, queries, keys
    shapes = [
        tuple(n if draw(st.booleans()) else 1 for n in full) if draw(st.integers(0, 2)) == 0 else None for _ in "bm"
    ]
    return (
        ((batch, heads, queries, dim), (batch, kv_heads, keys, dim), (batch, kv_heads, keys, v_dim)),
        shapes,
        keywords,
    )


def bias_and_mask(shapes, dtype, seed):
    """Some entries are masked: by False, by -inf, by the dtype's lowest value."""
    rng = np.random.default_rng(seed)
    bias = mask = None
    if shapes[0]:
        bias = rng.standard_normal(shapes[0]).astype(dtype)
        chosen = rng.random(shapes[0])
        bias = np.where(chosen < 0.1, np.array(-np.inf, dtype), bias)
        bias = np.where(chosen > 0.9, np.array(ml_dtypes.finfo(dtype).min, dtype), bias)
    if shapes[1]:
        mask = rng.random(shapes[1]) < rng.choice([0.2, 0.8, 0.99])
    return bias, mask


def operands(numbers, shapes, dtype, seed, special=0.0):
    """Queries and keys of size one, so that many weights count; values of mixed size."""
    rng = np.random.default_rng(seed)
    q, k = (rng.standard_normal(s).astype(dtype) for s in shapes[:2])
    return q, k, numbers(seed, shapes[2], dtype, special)


@settings(max_examples=150, deadline=None)
@given(case=attentions(), dtype=st.sampled_from(DTYPES), special=st.sampled_from([0, 0, 0.02]),
       heads_last=st.booleans(), seed=st.integers(0, 99))  # fmt: skip
def test_any_masks_and_layout(agree, numbers, case, dtype, special, heads_last, seed):
    shapes, more, keywords = case
    q, k, v = operands(numbers, shapes, dtype, seed, special)
    bias, mask = bias_and_mask(more, dtype, seed)
    out = agree("attention", q, k, v, bias, mask, **keywords)
    if heads_last:
        moved = (np.ascontiguousarray(x.swapaxes(1, 2)) for x in (q, k, v))
        other = agree("attention", *moved, bias, mask, **keywords, layout="BLHD", flush=True,
                      expected=np.ascontiguousarray(out.swapaxes(1, 2)))  # fmt: skip
        assert other.shape[1] == q.shape[2]


@settings(max_examples=40, deadline=None)
@given(case=attentions(), dtype=st.sampled_from(DTYPES), seed=st.integers(0, 99))
def test_derivatives(children, numbers, case, dtype, seed):
    shapes, more, keywords = case
    q, k, v = operands(numbers, shapes, dtype, seed)
    bias, mask = bias_and_mask(more, dtype, seed)
    d_out = numbers(seed + 9, (*shapes[0][:3], shapes[2][3]), dtype)
    expected = order.attention_backward(q, k, v, d_out, bias, mask, **keywords)
    for child in children:
        made = child("attention_backward", q, k, v, d_out, bias, mask, **keywords)
        for name, ours, theirs in zip("qkv", made, expected, strict=True):
            assert bits.same(ours, theirs), f"{child.label}: d{name}: {bits.difference(theirs, ours)}"


def pages_of(x, page_size, rng, spare=3):
    """x [batch, kv_heads, keys, d] as pages in random places of a pool full of NaN, and their table."""
    batch, heads, keys, dim = x.shape
    each = -(-keys // page_size)
    pool = np.full((batch * each + spare, page_size, heads, dim), np.nan, x.dtype)
    table = rng.permutation(len(pool))[: batch * each].reshape(batch, each).astype(np.int32)
    for b in range(batch):
        for j in range(keys):
            pool[table[b, j // page_size], j % page_size] = x[b, :, j]
    return pool, table


@pytest.mark.parametrize("dtype", DTYPES)
def test_pages(agree, numbers, dtype):
    for keys, page_size, queries in ((40, 16, 3), (300, 16, 1), (33, 1, 2), (513, 128, 1)):
        q, k, v = operands(numbers, ((2, 6, queries, 8), (2, 2, keys, 8), (2, 2, keys, 12)), dtype, keys)
        lengths = [keys, keys // 2]
        whole = order.attention(q, k, v, lengths=lengths)
        for seed in (0, 1):
            rng = np.random.default_rng(seed)
            pool, table = pages_of(k, page_size, rng)
            values = np.full((*pool.shape[:3], 12), np.nan, dtype)
            for b in range(2):
                for j in range(keys):
                    values[table[b, j // page_size], j % page_size] = v[b, :, j]
            table[1, -(-lengths[1] // page_size) :] = -1  # nobody needs these
            agree("attention", q, pool, values, lengths=lengths, table=table, expected=whole)


@pytest.mark.parametrize("dtype", DTYPES)
def test_long_caches_come_in_pieces(agree, numbers, dtype):
    """Of one query: pages are gathered, and values widened, 1,024 keys at a time."""
    for keys in (1024, 1025, 2300, 3400):
        q, k, v = operands(numbers, ((1, 2, 1, 4), (1, 1, keys, 4), (1, 1, keys, 3)), dtype, keys)
        start = keys % 7
        there = np.arange(keys) % 5 > 0
        stale = np.where(there[:, None], v, np.array(np.nan, dtype))
        whole = agree("attention", q, k, v, starts=[start])
        masked = agree("attention", q, k, stale, mask=there)
        pool, table = pages_of(np.concatenate([k, v, stale], 3), 16, np.random.default_rng(keys))
        pages, values, holes = (np.ascontiguousarray(pool[..., c]) for c in (slice(4), slice(4, 7), slice(7, None)))
        paged = {"table": table, "lengths": [keys]}
        agree("attention", q, pages, values, **paged, starts=[start], expected=whole)
        there = np.append(there, np.zeros(table.size * 16 - keys, bool))
        agree("attention", q, pages, holes, mask=there, **paged, expected=masked)


@settings(max_examples=40, deadline=None)
@given(st.sampled_from([1, 3, 8, 40]), st.sampled_from([1, 5, 100, 256, 300]), st.integers(0, 99), st.booleans())
def test_padding_cutting_and_neighbours_do_not_show(numbers, queries, more, seed, causal):
    """A cache with stale NaN and infinities on both sides, queries in pieces, alone or in a batch, with other heads."""
    keys = queries + more
    q, k, v = operands(numbers, ((1, 6, queries, 16), (1, 2, keys, 16), (1, 2, keys, 16)), np.float32, seed)
    keywords: dict = {"causal": causal, "window": 77 if causal and seed % 2 else None}
    alone = native.attention(q, k, v, **keywords, offset=more)
    for left, right in ((0, 9), (1, 0), (5, 300), (257, 1)):
        padded = [np.full((1, 2, left + keys + right, 16), bad, np.float32) for bad in (np.nan, np.inf)]
        for to, x in zip(padded, (k, v), strict=True):
            to[:, :, left : left + keys] = x
        k2, v2 = padded
        moved = keywords | {"offset": more + left}
        same = native.attention(q, k2, v2, **moved, starts=[left], lengths=[left + keys])
        assert bits.same(same, alone)
        there = np.zeros(left + keys + right, bool)
        there[left : left + keys] = True
        assert bits.same(native.attention(q, k2, v2, mask=there, **moved), alone)
        bias = np.where(there, np.float32(0), np.float32(-np.inf))
        assert bits.same(native.attention(q, k2, v2, bias, **moved), alone)
    for step in (1, 2, 5):
        pieces = [
            native.attention(q[:, :, i : i + step], k, v, **keywords, offset=more + i) for i in range(0, queries, step)
        ]
        assert bits.same(np.concatenate(pieces, 2), alone)
    others = [np.concatenate([numbers(seed + 5 + i, x.shape, np.float32), x]) for i, x in enumerate((q, k, v))]
    assert bits.same(native.attention(*others, **keywords, offset=[more - 1, more])[1:], alone)
    assert bits.same(native.attention(q[:, 3:5], k[:, 1:], v[:, 1:], **keywords, offset=more), alone[:, 3:5])


def test_derivatives_do_not_see_padding(numbers):
    q, k, v = operands(numbers, ((1, 4, 40, 16), (1, 2, 40, 16), (1, 2, 40, 16)), np.float32, 0)
    d_out = numbers(7, q.shape, np.float32)
    alone = native.attention_backward(q, k, v, d_out, causal=True)
    for left, right in ((3, 0), (0, 5), (300, 7)):
        padded = []
        for x in (q, k, v, d_out):
            to = np.full((1, x.shape[1], left + 40 + right, 16), np.nan, np.float32)
            to[:, :, left : left + 40] = x
            padded.append(to)
        there = np.zeros(left + 40 + right, bool)
        there[left : left + 40] = True
        for own, other in zip(
            native.attention_backward(*padded, mask=there & there[:, None], causal=True), alone, strict=True
        ):
            assert bits.same(other, np.ascontiguousarray(own[:, :, left : left + 40]))
            assert not own[:, :, :left].any()
            assert not own[:, :, left + 40 :].any()


def test_without_masks_it_is_the_composition(numbers):
    for dtype in (np.float32, np.float64):
        q, k, v = operands(numbers, ((2, 3, 17, 20), (2, 3, 300, 20), (2, 3, 300, 9)), dtype, 3)
        s = native.apply("mul", native.matmul(q, k.swapaxes(2, 3)), np.array(0.2, dtype))
        e = native.apply("exp", native.apply("sub", s, native.max(s, -1, keepdims=True)))
        p = native.apply("div", e, native.sum(e, -1, keepdims=True))
        assert bits.same(native.attention(q, k, v, scale=0.2), native.matmul(p, v))


def test_strided_and_empty_operands(agree, numbers):
    q, k, v = operands(numbers, ((2, 6, 20, 9), (2, 3, 50, 9), (2, 3, 50, 6)), np.float32, 0)
    agree("attention", q[:, ::-1, ::2, ::-1], k[:, :, ::-1, ::-1], v[:, :, ::-1, ::2])
    agree("attention", np.asfortranarray(q), np.asfortranarray(k), np.asfortranarray(v), causal=True, offset=30)
    agree("attention", np.broadcast_to(q[:1, :1], q.shape), np.broadcast_to(k[:1], k.shape), v)
    agree("attention", q, k[:, :, :0], v[:, :, :0])
    agree("attention", q[:, :, :0], k, v)
    agree("attention", q[..., :0], k[..., :0], v)
    agree("attention", q, k, v[..., :0])
    agree("attention", q[:0], k[:0], v[:0])
    for narrow in (ml_dtypes.bfloat16, np.float16):
        x = [a.astype(narrow) for a in (q, k, v)]
        out = agree("attention", *x, numbers(5, (20, 50), np.float32), out_dtype="float32", causal=True, offset=30)
        assert out.dtype == np.float32


def test_blocks_of_many_rows(agree, numbers):
    """More rows and keys than one block, panel or chunk has; against the composition, which is fast."""
    q, k, v = operands(numbers, ((1, 2, 200, 64), (1, 1, 700, 64), (1, 1, 700, 64)), np.float32, 0)
    there = np.tril(np.ones((200, 700), bool), 500)
    s = native.apply("mul", native.matmul(q, k.swapaxes(2, 3)), np.array(0.125, np.float32))
    s = np.where(there, s, np.float32(-np.inf))
    e = native.apply("exp", native.apply("sub", s, native.max(s, -1, keepdims=True)))
    p = native.apply("div", e, native.sum(e, -1, keepdims=True))
    whole = native.matmul(p, v)  # trailing zeros do not show (ZERO-1)
    for keywords in (
        {"causal": True, "offset": 500},
        {"mask": there},
        {"mask": there[None, None], "causal": True, "offset": 500},
    ):
        agree("attention", q, k, v, **keywords, expected=whole)


def test_special_scores(agree):
    one = np.ones((1, 1, 1, 1), np.float32)
    keys = np.array([0, np.inf, -np.inf, np.nan, 1e38, -0.0, 1e-45, 88], np.float32)
    for some in (keys, keys[4:], keys[2:3], keys[[0, 2]], keys[:0]):
        agree("attention", one, some.reshape(1, 1, -1, 1), np.arange(len(some), dtype=np.float32).reshape(1, 1, -1, 1))
    agree(
        "attention", one, keys[[5, 5]].reshape(1, 1, -1, 1), np.array([-1e-45, -0.0], np.float32).reshape(1, 1, -1, 1)
    )


def close(ours, theirs):
    scale = np.max(np.abs(theirs)) + 1e-30
    return np.max(np.abs(np.asarray(ours, np.float64) - np.asarray(theirs))) <= 2e-5 * scale


def test_close_to_jax_in_float64():
    jax = pytest.importorskip("jax")
    rng = np.random.default_rng(0)
    q, k, v, g = (rng.standard_normal(s) for s in ((2, 4, 50, 16), (2, 2, 70, 16), (2, 2, 70, 8), (2, 4, 50, 8)))
    bias = rng.standard_normal((1, 4, 50, 70))
    there = np.tril(np.ones((50, 70), bool), 20)

    def plain(q, k, v):
        k, v = (jax.numpy.repeat(x, 2, 1) for x in (k, v))
        s = jax.numpy.einsum("bhid,bhjd->bhij", q, k) / 4 + bias
        p = jax.nn.softmax(jax.numpy.where(there, s, -jax.numpy.inf))
        return jax.numpy.einsum("bhij,bhjd->bhid", p, v)

    with jax.enable_x64(True):
        out, pull = jax.vjp(plain, q, k, v)
        grads = pull(g)
    for dtype in (np.float64, np.float32):
        x, y, z, d, b = (a.astype(dtype) for a in (q, k, v, g, bias))
        assert close(native.attention(x, y, z, b, causal=True, offset=20), out)
        for ours, theirs in zip(native.attention_backward(x, y, z, d, b, causal=True, offset=20), grads, strict=True):
            assert close(ours, theirs)


def test_negative_control_stock_attention_sees_its_padding(numbers):
    """The usual way counts keys from the start of the cache: with other padding its sums have another order."""
    q, k, v = operands(numbers, ((1, 8, 7, 16), (1, 8, 300, 16), (1, 8, 300, 16)), np.float32, 0)

    def stock(k, v, there):
        s = np.where(there, q @ k.swapaxes(2, 3) * np.float32(0.25), np.float32(-np.inf))
        e = np.exp(s - s.max(-1, keepdims=True))
        return (e / e.sum(-1, keepdims=True)) @ v

    def moved(attend):
        alone = attend(k, v, np.ones(300, bool))
        count = 0
        for left in (1, 5, 100):
            padded = [np.pad(x, ((0, 0), (0, 0), (left, 0), (0, 0))) for x in (k, v)]
            there = np.arange(left + 300) >= left
            count += int(np.sum(attend(*padded, there).view(np.uint32) != alone.view(np.uint32)))
        return count

    assert moved(stock) > 0
    assert moved(lambda k, v, there: native.attention(q, k, v, mask=there)) == 0


BAD = [
    ({"lengths": [3, 41]}, "lengths.1. is 41; a length is 0 to 40"),
    ({"lengths": [3, -1]}, "lengths.1. is -1"),
    ({"lengths": [3]}, "one integer for each of 2"),
    ({"starts": [-1, 0]}, "starts.0. is -1"),
    ({"window": 0}, "window is 0"),
    ({"scale": np.inf}, "scale is inf"),
    ({"bias": np.zeros((3, 3), np.float32)}, "bias is .3, 3.; give what broadcasts"),
    ({"layout": "HBLD"}, "layout is 'HBLD'"),
]


@pytest.mark.parametrize(("keywords", "message"), BAD)
@pytest.mark.parametrize("where", [order, native])
def test_what_does_not_fit(where, keywords, message):
    q, k = np.zeros((2, 6, 5, 8), np.float32), np.zeros((2, 3, 40, 8), np.float32)
    with pytest.raises(ValueError, match=message):
        where.attention(q, k, k, **keywords)


@pytest.mark.parametrize("where", [order, native])
def test_shapes_and_dtypes_that_do_not_fit(where):
    q, k = np.zeros((2, 6, 5, 8), np.float32), np.zeros((2, 3, 40, 8), np.float32)
    for keys, message in (
        (k[:, :0], "0 heads of keys"),
        (k[:1], "q's batch"),
        (k[..., :7], "components"),
        (k[0], "four axes"),
    ):
        with pytest.raises(ValueError, match=message):
            where.attention(q, keys, keys)
    with pytest.raises(ValueError, match="4 heads of keys do not divide 6"):
        where.attention(q, np.zeros((2, 4, 40, 8), np.float32), np.zeros((2, 4, 40, 8), np.float32))
    with pytest.raises(ValueError, match="d_out is"):
        where.attention_backward(q, k, k, q[:, :3])
    with pytest.raises(TypeError, match="one dtype"):
        where.attention(q, k.astype(np.float64), k)
    with pytest.raises(TypeError, match="takes booleans"):
        where.attention(q, k, k, mask=np.zeros((5, 40), np.int32))
    pool = np.zeros((7, 4, 3, 8), np.float32)
    table = np.zeros((2, 10), np.int64)
    table[1, 3] = 7
    with pytest.raises(ValueError, match=r"table.1, 3. is page 7, and there are 7 pages"):
        where.attention(q, pool, pool, table=table)
    assert not where.attention(q, pool, pool, table=table, lengths=[40, 12]).any()
