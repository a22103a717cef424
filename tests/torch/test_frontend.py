"""Tensors keep their bits on the way in and out; containers keep their types; float64 reaches what fn narrows."""

import collections
import dataclasses

import numpy as np
import pytest

from samebits._audit import AuditError

torch = pytest.importorskip("torch")

from samebits.torch._arrays import to_host, to_tensor  # noqa: E402
from samebits.torch._frontend import frontend  # noqa: E402
from samebits.torch._row_ids import RowIds  # noqa: E402
from samebits.torch._trees import leaves, rebuild  # noqa: E402
from tests.torch import programs as p  # noqa: E402

Point = collections.namedtuple("Point", "x y")


@dataclasses.dataclass
class Pair:
    left: object
    right: object


DTYPES = [
    torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.float8_e4m3fn, torch.float8_e5m2,
    torch.complex64, torch.complex128, torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64,
]  # fmt: skip


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_every_bit_goes_and_comes_back(dtype):
    t = (p.normal(5, 3) * 3).to(dtype)
    back = to_tensor(to_host(t), t)
    assert back.dtype == dtype
    assert torch.equal(back.contiguous().view(torch.uint8), t.contiguous().view(torch.uint8))
    assert back.data_ptr() != t.data_ptr()
    if dtype != torch.bool:
        assert not np.array_equal(to_host(t[[1, 0, 2, 3, 4]]).view(np.uint8), to_host(t).view(np.uint8))


def test_the_layout_of_pictures_is_kept():
    t = p.normal(2, 3, 4, 5).contiguous(memory_format=torch.channels_last)
    assert to_tensor(to_host(t), t).stride() == t.stride()


def test_containers_keep_their_types():
    a, b = torch.zeros(2), torch.ones(2)
    trees = [{"k": a, "m": (b, None)}, Point(a, [b]), Pair(a, b), collections.OrderedDict(u=a, v=b),
             collections.defaultdict(list, u=a, v=b)]  # fmt: skip
    for tree in trees:
        new = rebuild(tree, lambda x: x + 1)
        assert type(new) is type(tree)
        assert [float(x[0]) for _, x in leaves(new)] == [1.0, 2.0]
        assert [float(x[0]) for _, x in leaves(tree)] == [0.0, 1.0]
    assert [n for n, _ in leaves(Pair(a, {"z": b}))] == [".left", ".right['z']"]


@pytest.mark.parametrize("batch", [torch.ones(1, 3), {}, {"a": torch.ones(3), "b": torch.ones(4)}, ["text", "more"],
                                   torch.tensor(3.0), {"names": np.array(["a", "b"])}], ids=repr)  # fmt: skip
def test_a_batch_without_rows_is_refused_with_a_way_out(batch):
    with pytest.raises(AuditError, match="way out"):
        frontend.flatten(batch)


def third(x):
    return (x.float() + torch.ones(1, dtype=torch.float32)) / 3 + p.W.sum()


def test_float64_reaches_conversions_and_constants():
    x = p.normal(4, 6)
    batch = frontend.flatten(x)
    (narrow,) = frontend.runner(third, batch, "batch", "eager")(batch.leaves).leaves
    (wide,) = frontend.in_float64(third, batch, "batch")(batch.leaves).leaves
    assert (narrow.dtype, wide.dtype) == (np.float32, np.float64)
    exact = (x.numpy().astype(np.float64) + 1) / 3 + p.W.numpy().astype(np.float64).sum()
    assert np.abs(wide - exact).max() < 1e-14
    assert np.abs(narrow - exact).max() > 1e-9
    assert p.W.dtype == torch.float32
    assert torch.get_default_dtype() == torch.float32


def test_constants_moved_come_back():
    batch = frontend.flatten(p.normal(4, 6))
    before = p.W.clone()
    (moved,) = frontend.with_constants(third, batch, "batch", lambda a: a * 2)(batch.leaves).leaves
    (plain,) = frontend.runner(third, batch, "batch", "eager")(batch.leaves).leaves
    assert not np.array_equal(moved, plain)
    assert torch.equal(p.W, before)


def test_constants_come_back_after_an_exception():
    def fails(x):
        raise ValueError(p.W.sum())

    batch = frontend.flatten(p.normal(4, 6))
    before = p.W.clone()
    with pytest.raises(ValueError, match="tensor"):
        frontend.with_constants(fails, batch, "batch", lambda a: a * 2)(batch.leaves)
    assert torch.equal(p.W, before)


@pytest.mark.parametrize("rows", [3, 8, 11])
def test_remedies_give_what_fn_gives(rows):
    x = p.normal(rows, 6)
    threads = torch.get_num_threads()
    found = frontend.remedies(p.polynomial, frontend.flatten(x), "batch")
    assert [r.name for r in found] == ["one thread", "fixed tiles", "row at a time"]
    for remedy in found:
        assert torch.equal(remedy.make()(x), p.polynomial(x))
    assert torch.get_num_threads() == threads


def test_tiles_see_no_other_number_of_rows():
    seen = []
    tiles = next(r for r in frontend.remedies(lambda v: seen.append(len(v)) or v, frontend.flatten(p.normal(11, 2)),
                                              "batch") if r.name == "fixed tiles")  # fmt: skip
    tiles.make()(p.normal(11, 2))
    assert seen == [8, 8]


def test_row_numbers_follow_views_writes_and_sums():
    ids, x = RowIds(), p.normal(3, 2)
    ids.write(x, torch.arange(3, dtype=torch.int32)[:, None])
    found = ids.along(x[1:])
    assert found is not None
    assert found[1].tolist() == [1, 2]
    buffer = torch.zeros(4, 2)
    part = buffer[:3]
    ids.follow(torch.ops.aten.copy_.default, (part, x), {}, [part.copy_(x)])
    found = ids.along(buffer)
    assert found is not None
    assert found[1].tolist() == [0, 1, 2, -1]
    total = x + x[0]
    ids.follow(torch.ops.aten.add.Tensor, (x, x[0]), {}, [total])
    rows = ids.of(total)
    assert rows is not None
    assert rows[:, 0].tolist() == [0, -1, -1]  # one row alone, or two that mix
    assert ids.of(torch.zeros(2)) is None
