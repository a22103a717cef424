"""Arguments that once crashed, hung, gave other bits than the reference, or an error that did not name them."""

import ctypes

import numpy as np
import pytest

from samebits import native, order
from samebits.native._arrays import words
from samebits.native._library import DTYPES, check, library
from samebits.native._program import MAGIC

F32, F64, I64 = (DTYPES.index(name) for name in ("float32", "float64", "int64"))
NONE = [0] * 8
X = np.linspace(-2, 2, 24).reshape(2, 12)


def same(name, *args, **keywords):
    ours, theirs = (getattr(m, name)(*args, **keywords) for m in (native, order))
    for a, b in zip(*(r if isinstance(r, tuple) else (r,) for r in (ours, theirs)), strict=True):
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        assert a.tobytes() == b.tobytes()


@pytest.mark.parametrize("eps", [np.float32(1e-3), np.float16(1e-3), np.array(1e-3), 1, np.int64(0), float("nan")])
def test_eps_is_the_number_it_is_in_any_type(eps):
    same("rms_norm", X[:, ::2], None, eps)
    same("layer_norm", X[:, ::2], None, None, eps)
    same("layer_norm_vjp", X, X, None, True, eps)
    same("group_norm", X.reshape(2, 4, 3), 2, None, None, eps)


@pytest.mark.parametrize("eps", ["1e-5", None, [1e-5], 1j, np.zeros(1), object()])
@pytest.mark.parametrize("module", [native, order])
def test_eps_that_is_no_number(module, eps):
    for call in (lambda: module.layer_norm(X, None, None, eps), lambda: module.rms_norm_vjp(X, X, None, eps)):
        with pytest.raises(TypeError, match=r"eps is .*; give a real number"):
            call()


@pytest.mark.parametrize("exponent", [-(2**63), 2**63 - 1, -(2**63) + 1])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_exponents_at_the_ends_of_64_bits(exponent, dtype):
    x = np.array([0.5, 1, -1, 2, np.nan, 1 + 2.0**-20], dtype)
    ours, theirs = native.apply("integer_pow", x, exponent=exponent), order.integer_pow(x, exponent)
    assert ours.tobytes() == theirs.tobytes()
    assert ours[0] == (0 if exponent > 0 else np.inf)


@pytest.mark.parametrize("exponent", [2.0, [2], "2"])
def test_exponents_that_are_no_integers_also_where_an_equal_one_is_known(exponent):
    native.apply("integer_pow", X, exponent=2)
    for call in (lambda: native.apply("integer_pow", X, exponent=exponent), lambda: order.integer_pow(X, exponent)):
        with pytest.raises(TypeError, match=r"exponent is .*; give an integer"):
            call()
    with pytest.raises(ValueError, match=f"exponent of 64 bits, got {2**64}"):
        native.apply("integer_pow", X, exponent=2**64)


@pytest.mark.parametrize("dtype", [">f4", ">i2", ">c8"])
def test_conversion_to_another_byte_order_is_refused(dtype):
    with pytest.raises(TypeError, match="byte order; give"):
        native.apply("convert", X, dtype=dtype)


def test_rotary_of_nothing():
    for interleaved in (False, True):
        same("rotary", np.zeros((2, 3, 0)), np.zeros((3, 0)), np.zeros((3, 0)), interleaved)


def attention_operands(heads=2):
    rng = np.random.default_rng(0)
    return rng.standard_normal((1, heads, 3, 4)), *rng.standard_normal((2, 1, 1, 5, 4))


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"offset": 2**41}, "offset is 2199023255552, beyond"),
        ({"offset": -(2**70)}, "offset is -1180591620717411303424, beyond"),
        ({"window": 2**41}, "window is 2199023255552, more than"),
        ({"scale": "a"}, "scale is 'a'; give a real number"),
        ({"scale": 1j}, "scale is 1j; give a real number"),
    ],
)
@pytest.mark.parametrize("module", [native, order])
def test_attention_arguments_beyond_reason(module, keywords, message):
    q, k, v = attention_operands()
    with pytest.raises((TypeError, ValueError), match=message):
        module.attention(q, k, v, **keywords)
    with pytest.raises((TypeError, ValueError), match=message):
        module.attention_backward(q, k, v, q, **keywords)


def test_derivative_of_attention_without_heads_is_zero():
    q, k, v = attention_operands(heads=0)
    same("attention_backward", q, k, v, q)
    assert not any(native.attention_backward(q, k, v, q)[1].ravel())


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda m: m.window_sum(X, 2, padding=None), "padding that is an integer, or .* got None"),
        (lambda m: m.window_sum(X, 2, padding=[0, 1]), r"padding that is an integer, or .* got \[0, 1\]"),
        (lambda m: m.window_max(X, 2.5), "window that is an integer, or .* got 2.5"),
        (lambda m: m.top_k(X, 2, dtype="zz"), "dtype is 'zz', which is no dtype"),
        (lambda m: m.argmax(X, 1, dtype="yy"), "dtype is 'yy', which is no dtype"),
        (lambda m: m.group_norm(X, 2.0), "groups is 2.0; give an integer"),
    ],
)
@pytest.mark.parametrize("module", [native, order])
def test_errors_name_the_argument(module, call, message):
    with pytest.raises(TypeError, match=message):
        call(module)


def test_windows_that_fit_nowhere_need_no_memory():
    same("window_min", np.zeros((1, 0), np.float32), 2, 1, 1, 1, 2**40)


@pytest.mark.parametrize("length", [2**58 + 1, 2**60, 2**61, 2**62 - 1])
def test_top_k_of_rows_that_no_memory_holds(length):
    lib, x = library(), np.zeros(64)
    for dtype in (F32, F64):
        d = words(dtype, I64, 1, 1, 0, NONE, NONE, length, 0)
        assert lib.sb_top_k(d, x.ctypes.data, x.ctypes.data, x.ctypes.data, None) == -1
        assert b"does not fit" in lib.sb_error()


def test_programs_without_steps_run():
    lib = library()
    buffers = (ctypes.c_void_p * 2)(*[np.zeros(1).ctypes.data] * 2)
    for program in ([MAGIC, 0, 0, 0, 0], [MAGIC, 1, 1, 0, 0, 8, 8]):
        handle = lib.sb_program_new(words(*program), len(program))
        assert handle
        check(lib.sb_program_run(handle, buffers, None))
        lib.sb_program_free(handle)


def test_attention_of_endless_batches_of_nothing():
    lib, p = library(), np.zeros(64).ctypes.data
    inputs = (ctypes.c_void_p * 9)(*[p] * 9)
    head = [F32, F32, F32, 2**60, 0, 2**60, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0]
    d = words(*head, *[0] * 26)
    check(lib.sb_attention(d, inputs, p, None))
    check(lib.sb_attention_backward(words(*head, *[0] * 26, *[0] * 16), inputs, p, p, p, p, None))


def test_partials_of_more_terms_than_64_bits_count():
    part = order.Partial(0, 2**57, np.ones(2, np.float32), 1)
    with pytest.raises(ValueError, match=f"{2**65} does not fit 64 bits"):
        native.join_partials([part], 2**57)


ONE_AXIS = ("softmax", "logsumexp", "sort", "cumsum")


@pytest.mark.parametrize("name", [*ONE_AXIS, "sum"])
@pytest.mark.parametrize("module", [native, order])
def test_axes_that_are_none(module, name):
    function = getattr(module, name)
    for axis in (1.5, "a", *((None, [0], (0, 1)) if name in ONE_AXIS else ([0.5],))):
        with pytest.raises(TypeError, match=r"axis is .*; give an integer"):
            function(X, axis)
    for axis in (2, -3, 2**70):
        with pytest.raises(ValueError, match=f"axis {axis} is out of bounds for array of dimension 2"):
            function(X, axis)
    assert np.array_equal(function(X, np.array(1)), function(X, -1))


def test_flags_may_be_any_true_number():
    same("top_k", X, 2, 1, 5)
    same("cumsum", X, 1, 5)
