"""Complex numbers by parts: reference = each instruction set (CPX)."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from samebits import bits, native, order

DTYPES = [np.complex64, np.complex128]
SIZES = [0, 1, 2, 3, 7, 8, 16, 17, 31, 33, 64, 100, 256, 257, 1000]
ONE = ["neg", "conj", "real", "imag", "is_finite", "square", "abs", "sign", "sqrt", "rsqrt", "exp", "exp2", "expm1",
       "logistic", "log", "log1p", "sinh", "cosh", "tanh", "sin", "cos", "tan", "asin", "acos", "atan", "asinh",
       "acosh", "atanh"]  # fmt: skip
TWO = ["add", "sub", "mul", "div", "eq", "ne", "pow"]
EXTREMA = {"max": "maximum", "min": "minimum"}
FOLDS = ["prod", "max", "min"]


def has(name):
    """Whether the reference has the operation with all that it is made of, and the library too."""
    try:
        getattr(order, name)(*[np.ones(2, complex)] * (1 if name in ONE else 2))
    except (AttributeError, NotImplementedError):
        return False
    return True


@pytest.fixture(scope="session")
def complexes(numbers):
    """complexes(seed, shape, dtype, special): of the parts that `numbers` gives."""

    def make(seed, shape, dtype, special=0.0):
        part = np.dtype(dtype).type(0).real.dtype
        return order.complex(numbers(seed, shape, part, special), numbers(seed + 1000, shape, part, special))

    return make


@pytest.mark.parametrize("operation", [*ONE, *TWO])
def test_operations(agree, complexes, operation):
    if not has(operation):
        pytest.skip(f"{operation} waits for a real operation")

    @settings(max_examples=12, deadline=None)
    @given(dtype=st.sampled_from(DTYPES), n=st.sampled_from(SIZES), special=st.sampled_from([0.0, 0.2, 1.0]),
           seed=st.integers(0, 99), flush=st.booleans())  # fmt: skip
    def run(dtype, n, special, seed, flush):
        operands = [complexes(seed + i, n, dtype, special) for i in range(1 if operation in ONE else 2)]
        agree(operation, *operands, operation=operation, flush=flush)

    run()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("operation", EXTREMA)
def test_extrema(agree, complexes, operation, dtype):
    z, w = (complexes(i, 300, dtype, 0.5) for i in (0, 1))
    z[::7] = w[::7]
    z.real[1::7] = w.real[1::7]
    agree(operation, z, w, operation=EXTREMA[operation])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("operation", FOLDS)
def test_folds(agree, complexes, operation, dtype):
    for n in SIZES:
        z = complexes(n, n, dtype, 0.1 * (n % 2))
        agree(operation, z, flush=n == 33)
        if n < 40:
            agree(f"cum{operation}", z, flush=n == 17)
    z = complexes(5, (3, 5, 7), dtype, 0.1)
    agree(operation, z, axis=(0, 2), keepdims=True)
    agree(operation, z.T[::-1], axis=1)
    agree(operation, z[:, :0], axis=1)
    agree(f"cum{operation}", z, axis=1, reverse=True)
    agree(f"cum{operation}", z[:, :0], axis=1)


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_cumulative_product_ends_with_the_product(dtype):
    x, y = np.random.default_rng(0).normal(size=(2, 77))
    z = (x + 1j * y).astype(dtype)
    assert bits.same(order.cumprod(z)[-1], order.prod(z))
    assert bits.same(order.cumprod(z, reverse=True)[0], order.prod(z[::-1]))
    assert bits.same(native.cumprod(z)[32], native.prod(z[:33]))
    sequential = z[0]
    for x in z[1:]:
        sequential = order.mul(sequential, x)
    assert not bits.same(sequential, order.prod(z))  # the control: the tree is not the sequence


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("exponent", [-7, -1, 0, 1, 2, 3, 10])
def test_integer_pow(agree, complexes, dtype, exponent):
    agree("integer_pow", complexes(0, 100, dtype, 0.2), operation="integer_pow", exponent=exponent)


@pytest.mark.parametrize("dtype", DTYPES)
def test_select_and_complex(agree, complexes, numbers, dtype):
    z, w = (complexes(i, 300, dtype, 0.3) for i in (0, 1))
    agree("select", np.arange(300) % 3 == 0, z, w, operation="select")
    agree("complex", np.real(z), np.imag(w), operation="complex")


@pytest.mark.parametrize("dtype", DTYPES)
def test_conversions(agree, complexes, numbers, dtype):
    z = complexes(0, 300, dtype, 0.3)
    for target in ("complex64", "complex128", "float16", "bfloat16", "float32", "float64", "int8", "uint64", "bool"):
        agree("convert", z, operation="convert", dtype=target)
    for source in ("float16", "float32", "float64", "int64", "uint8", "bool"):
        x = numbers(1, 300, "float64", 0.2)
        agree("convert", order.convert(x, source), operation="convert", dtype=dtype)
    assert bits.same(native.apply("convert", z, dtype=dtype), z)


@settings(max_examples=20, deadline=None)
@given(dtype=st.sampled_from(DTYPES), operation=st.sampled_from(["mul", "div", "exp"]), data=st.data())
def test_broadcasting_and_strides(agree, complexes, dtype, operation, data):
    shape = data.draw(st.lists(st.sampled_from([1, 2, 3, 17]), max_size=4))
    operands = []
    for i in range(2 if operation != "exp" else 1):
        own = [n if data.draw(st.booleans()) else 1 for n in shape][data.draw(st.integers(0, len(shape))) :]
        x = complexes(i, [2 * n for n in own], dtype, 0.2)
        operands.append(x[tuple(data.draw(st.sampled_from([slice(0, n), slice(0, 2 * n, 2), slice(n - 1, None, -1)]))
                                for n in own)])  # fmt: skip
    agree(operation, *operands, operation=operation)


@pytest.mark.parametrize("dtype", DTYPES)
def test_sums(agree, complexes, dtype):
    for n in (0, 1, 17, 257, 1000):
        z = complexes(n, n, dtype)
        for name in ("sum", "mean", "cumsum", "accumulate"):
            agree(name, z)
    z = complexes(5, (3, 5, 7), dtype, 0.1)
    agree("sum", z, axis=(0, 2), keepdims=True)
    agree("mean", z.T, axis=1)
    agree("cumsum", z, axis=1, reverse=True)
    index = np.array([3, 0, 3, -1, 7, 3, 2], np.int32)
    agree("scatter_add", complexes(6, 5, dtype), index, complexes(7, 7, dtype))
    for name in ("add", "sub", "mul", "max", "min"):
        agree(f"scatter_{name}", complexes(6, (5, 3), dtype, 0.1), index, complexes(7, (7, 3), dtype, 0.1))


@pytest.mark.parametrize("dtype", DTYPES)
def test_products(agree, complexes, dtype):
    for k in (0, 1, 17, 257, 600):
        agree("matmul", complexes(k, (3, k), dtype), complexes(k + 1, (k, 5), dtype), flush=k == 17)
    a, b = complexes(0, (2, 1, 4, 33), dtype, 0.02), complexes(1, (3, 33, 6), dtype, 0.02)
    agree("matmul", a, b)
    agree("matmul", b[0].T, a[0, 0].T[:, ::-1])
    agree("matmul", a[0, 0, 0], b[0, :, 0])


def test_a_product_is_four_real_ones():
    z, w = (np.array([[1 + 2j, 3 - 1j]]), np.array([[2 - 1j], [0.5 + 4j]]))
    assert bits.same(order.matmul(z, w), np.array([[(1 + 2j) * (2 - 1j) + (3 - 1j) * (0.5 + 4j)]]))
    a, b = (x[..., 0, :, :] for x in (np.stack([np.real(x), np.imag(x)]) for x in (z[None], w[None])))
    assert order.matmul(z, w)[0, 0].real == order.sub(order.matmul(a[0], b[0]), order.matmul(a[1], b[1]))[0, 0]
    wrong = order.add(order.matmul(a[0], b[0]), order.matmul(a[1], b[1]))[0, 0]
    assert order.matmul(z, w)[0, 0].real != wrong


@pytest.mark.parametrize("name", ["rem", "lt", "floor", "nextafter", "erf", "copysign", "cbrt", "atan2"])
def test_what_has_no_clause_is_refused(name):
    if name not in native.names():
        pytest.skip("not there for real numbers either")
    arity = 2 if name in ("rem", "lt", "nextafter", "copysign", "atan2") else 1
    with pytest.raises(TypeError, match="no rule for complex64"):
        native.apply(name, *[np.ones(2, np.complex64)] * arity)


def test_other_refusals():
    z, x = np.ones(2, complex), np.ones(2)
    for call, message in (
        (lambda: native.apply("real", x), "real has no rule for float64"),
        (lambda: native.apply("complex", z, z), "complex has no rule for complex128"),
        (lambda: native.apply("add", z, x), "one dtype, got complex128, float64"),
        (lambda: native.apply("add", z, z.astype(np.complex64)), "one dtype"),
        (lambda: native.argmax(z), "argmax takes floats, integers or booleans, got complex128"),
        (lambda: native.cumlogsumexp(z), "takes .* got complex128; it has no rule for complex numbers"),
        (lambda: native.scatter_mul(z, np.array([0]), x[:1]), "scatter_mul takes operands of one dtype"),
        (lambda: native.scatter_add(z, np.array([0]), x[:1]), "scatter_add takes operands of one dtype"),
        (lambda: native.matmul(z, x), "matmul takes complex64 or complex128, got float64"),
        (lambda: native.matmul(z, z, out_dtype="complex64"), "a product of complex128 is complex128, not complex64"),
        (lambda: order.real(x), "real takes complex64 or complex128, got float64"),
        (lambda: order.complex(z, z), "complex takes float32 or float64 parts, got complex128"),
        (lambda: order.floor(z), "floor takes floats, got complex128"),
        (lambda: native.apply("convert", x, dtype=np.clongdouble), "no dtype"),
    ):
        with pytest.raises(TypeError, match=message):
            call()
