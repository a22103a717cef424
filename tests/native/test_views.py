"""Views are NumPy's strided arrays: the same elements for every chain of movements."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from samebits.native._program import Node
from samebits.native._views import View, contiguous_strides, merge, one_axis


def whole(shape):
    node = Node("argument", "int64", tuple(shape))
    return View(node, "int64", tuple(shape), contiguous_strides(shape)), np.arange(max(1, int(np.prod(shape))))


def look(view, data):
    """The elements that a view names, read with NumPy."""
    if view.size == 0:
        return np.zeros(view.shape, data.dtype)
    index = np.full(view.shape, view.offset)
    for axis, (n, s) in enumerate(zip(view.shape, view.strides, strict=True)):
        index = index + s * np.arange(n).reshape([-1 if i == axis else 1 for i in range(len(view.shape))])
    return data[index]


@st.composite
def chains(draw):
    shape = tuple(draw(st.lists(st.sampled_from([0, 1, 2, 3, 4]), min_size=0, max_size=4)))
    view, data = whole(shape)
    array = data[: int(np.prod(shape))].reshape(shape)
    for _ in range(draw(st.integers(0, 5))):
        move = draw(st.sampled_from(["transpose", "broadcast", "slice", "reverse", "reshape"]))
        if move == "transpose":
            order = draw(st.permutations(range(array.ndim)))
            view, array = view.transpose(order), array.transpose(order)
        elif move == "broadcast" and array.ndim < 5:
            at, n = draw(st.integers(0, array.ndim)), draw(st.integers(0, 3))
            new = (*array.shape[:at], n, *array.shape[at:])
            view = view.broadcast(new, [i for i in range(len(new)) if i != at])
            array = np.broadcast_to(np.expand_dims(array, at), new)
        elif move == "slice":
            parts = [(draw(st.integers(0, n)), draw(st.integers(1, 3))) for n in array.shape]
            view = view.slice([a for a, _ in parts], array.shape, [s for _, s in parts])
            array = array[tuple(slice(a, None, s) for a, s in parts)]
        elif move == "reverse":
            axes = [i for i in range(array.ndim) if draw(st.booleans())]
            view, array = view.reverse(axes), np.flip(array, tuple(axes))
        elif move == "reshape":
            new = (array.size,) if draw(st.booleans()) else (1, *array.shape, 1)
            moved = view.reshape(new)
            if moved is not None:
                view, array = moved, array.reshape(new)
    return view, data, array


@given(chains())
def test_views_are_numpys_strided_arrays(chain):
    view, data, array = chain
    assert view.shape == array.shape
    np.testing.assert_array_equal(look(view, data), array)


@given(chains())
def test_a_whole_view_is_the_value_in_order(chain):
    view, data, array = chain
    if view.is_whole:
        np.testing.assert_array_equal(array.ravel(), data[: view.node.size])


@pytest.mark.parametrize(
    ("shape", "strides", "expected"),
    [
        ((), (), (1, 0)),
        ((2, 3), (3, 1), (6, 1)),
        ((2, 1, 3), (3, 77, 1), (6, 1)),
        ((2, 3), (0, 0), (6, 0)),
        ((2, 3), (1, 2), None),
        ((2, 3), (6, 2), (6, 2)),
        ((0, 3), (1, 2), (0, 0)),
    ],
)
def test_one_axis(shape, strides, expected):
    assert one_axis(shape, strides) == expected


def test_merge_keeps_what_one_stride_cannot_walk():
    assert merge((2, 3, 4), (100, 4, 1)) == ([2, 12], [100, 1])


def test_a_reshape_that_needs_a_copy_says_so():
    view, _ = whole((2, 3))
    assert view.transpose([1, 0]).reshape((6,)) is None
