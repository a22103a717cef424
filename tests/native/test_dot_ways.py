"""Which way a product is computed. No way moves a bit, so nothing else would notice if one were never taken."""

from ctypes import POINTER, c_char_p, c_int64, c_void_p

import pytest

from samebits import native
from samebits.native._library import DTYPES, library
from tests.native.test_dot import describe

pytestmark = pytest.mark.skipif(native.isa() == "generic", reason="its tables are small; tests of bits use all ways")

KN, NK = "kn", "nk"


def way(m, n, k, layout, dtype="float32", packed=False):
    lib = library()
    lib.sb_dot_way.restype, lib.sb_dot_way.argtypes = c_char_p, [POINTER(c_int64), c_void_p]
    b = (0, n, 1) if layout == KN else (0, 1, k)
    desc = describe(dtype, dtype, (1, m, n, k), (0, k, 1), b, (0, n, 1))
    if not packed:
        return lib.sb_dot_way(desc, None).decode()
    weights = (c_int64 * 8)(DTYPES.index(dtype), 0, 1, k, n, 0, 0, 0)  # strides of 0: one element serves
    one = (c_int64 * 1)()
    handle = lib.sb_pack(weights, one, None)
    try:
        return lib.sb_dot_way(desc, handle).decode()
    finally:
        lib.sb_packed_free(handle)


@pytest.mark.parametrize(
    ("case", "expected"),
    [
        ((1, 10, 10, KN), "single"),
        ((4, 24, 256, KN), "single"),
        ((1, 10, 1, NK), "single"),
        ((4, 24, 257, KN), "blocked"),  # a second chunk
        ((64, 64, 64, KN), "blocked"),
        ((512, 512, 512, NK), "blocked"),
        ((1, 256, 256, NK), "fused"),
        ((4, 768, 768, NK), "fused"),
        ((2, 4096, 256, NK), "fused"),
        ((1, 768, 3072, KN), "stream"),
        ((4, 4096, 4096, KN), "stream"),
        ((5, 4096, 4096, KN), "blocked"),
        ((1, 256, 256, KN), "blocked"),  # near, so sums stay in registers
        ((1, 256, 256, KN, "bfloat16"), "stream"),
        ((1, 256, 256, NK, "bfloat16"), "fused"),
    ],
)
def test_ways(case, expected):
    assert way(*case) == expected


@pytest.mark.parametrize(("m", "expected"), [(1, "flight"), (2, "flight"), (9, "blocked"), (64, "blocked")])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float64"])
def test_ways_of_packed_operands(m, expected, dtype):
    assert way(m, 512, 300, KN, dtype, packed=True) == expected


def test_a_single_panel_is_not_in_flight():
    assert way(1, 8, 300, KN, packed=True) == "blocked"


def test_no_way_of_a_wrong_descriptor():
    lib = library()
    lib.sb_dot_way.restype, lib.sb_dot_way.argtypes = c_char_p, [POINTER(c_int64), c_void_p]
    assert lib.sb_dot_way(describe("float32", "float32", (1, -1, 2, 2), (0, 2, 1), (0, 2, 1), (0, 2, 1)), None) is None
