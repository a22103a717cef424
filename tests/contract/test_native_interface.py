"""samebits.native: shapes, what it says about the machine, and its errors (what, the value, the way out)."""

# pyright: reportArgumentType=false
# Some tests pass what the types forbid.

import os
import subprocess
import sys

import ml_dtypes
import numpy as np
import pytest

from samebits import NativeError, native, order

X, W, V = np.ones((1, 3, 4)), np.ones((1, 3, 2)), np.ones((3, 1, 2))
F32 = np.ones(3, np.float32)
ABSENT = "avx2" if "neon" in native.isas() else "neon"  # of another family of CPUs


def test_it_says_what_it_runs_on():
    assert native.isa() in native.isas()
    assert native.isas()[0] == "generic"
    assert native.threads() >= 1
    assert {"add", "exp", "clamp", "convert"} <= set(native.names())


def test_names_are_those_of_the_reference():
    """Elementwise operations of samebits.native go by name (`apply`); and, or, xor, not are bitwise_and, ... there."""
    ours, theirs = ({name for name in vars(part) if not name.startswith("_")} for part in (native, order))
    machine = {"contract_version", "isa", "isas", "threads"}
    assert ours - theirs - machine == {"Packed", "apply", "names", "pack"}
    elementwise = {f"bitwise_{name}" if name in ("and", "or", "xor", "not") else name for name in native.names()}
    assert elementwise <= theirs
    definitions = {"CHUNK", "LANES", "VERSION", "dot_general", "fma32", "fma64", "fold",
                   "require_ieee_mode"}  # fmt: skip
    assert theirs - ours - elementwise == definitions | {"maximum", "minimum"}


def run(code, **environment):
    done = subprocess.run(
        [sys.executable, "-c", code], env=os.environ | environment, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout.strip(), done.stderr.strip().splitlines()[-1:]


def test_the_environment_chooses():
    code = "from samebits import native; print(native.isa(), native.threads())"
    assert run(code, SAMEBITS_ISA="generic", SAMEBITS_THREADS="3")[1] == "generic 3"


@pytest.mark.parametrize(("variable", "value", "message"), [
    ("SAMEBITS_ISA", ABSENT, "not supported by this CPU"), ("SAMEBITS_ISA", "sse9", "not an instruction set"),
    ("SAMEBITS_THREADS", "0", "is not a number of threads"), ("SAMEBITS_THREADS", "many", "is not a number of threads"),
])  # fmt: skip
def test_a_wrong_environment_is_one_named_error(variable, value, message):
    status, _, last = run("from samebits import native; native.isa()", **{variable: value})
    assert status == 1
    assert last[0].startswith("samebits._errors.NativeError: ")
    assert value in last[0]
    assert message in last[0]
    assert issubclass(NativeError, RuntimeError)


@pytest.mark.parametrize(("call", "error", "message"), [
    (lambda: native.matmul(np.ones((2, 2)), np.ones((2, 2), np.float32)), TypeError,
     "matmul takes operands of one dtype, got float64, float32; convert them first"),
    (lambda: native.matmul(np.ones((2, 2), int), np.ones((2, 2), int)), TypeError,
     "matmul takes float16, bfloat16, float32 or float64, got int64; convert it first"),
    (lambda: native.matmul(np.ones((2, 3)), np.ones((2, 3))), ValueError,
     r"matmul contracts k = 3 of \(2, 3\) with k = 2 of \(2, 3\)"),
    (lambda: native.matmul(np.ones((2, 2, 3)), np.ones((3, 3, 2))), ValueError, "do not broadcast"),
    (lambda: native.matmul(np.float32(1), F32), ValueError, "at least one axis"),
    (lambda: native.matmul(np.ones((2, 2)), np.ones((2, 2)), out_dtype="float32"), TypeError, "convert it after"),
    (lambda: native.conv(X, np.ones((1, 2, 2))), ValueError, "x has 3 channels in 1 groups and w takes 2 a group"),
    (lambda: native.conv(X, W, groups=2), ValueError, "groups = 2 does not divide 3 channels of x"),
    (lambda: native.conv(X[0], W[0]), ValueError, "one to three spatial axes"),
    (lambda: native.conv(X, W, 0), ValueError, "strides is 0; each entry is 1 or more"),
    (lambda: native.conv(X, W, (1, 1)), ValueError, "one for each of the 1 spatial axes"),
    (lambda: native.conv(X, W, padding=((1,),)), ValueError, "an integer or a .low, high. pair"),
    (lambda: native.conv(X, W, x_layout="NHC"), ValueError, "give the letters of 'NCW'"),
    (lambda: native.conv(X, W.astype(np.float32)), TypeError, "conv takes operands of one dtype"),
    (lambda: native.conv(X, W, out_dtype="float32"), TypeError, "a convolution of float64 is float64, not float32"),
    (lambda: native.conv(X, W, 1.5), ValueError, "strides is 1.5; give one integer, or one for each of the 1 spatial"),
    (lambda: native.conv(X, W, padding=0.5), ValueError, "padding is 0.5; give one integer"),
    (lambda: native.conv(X, W, padding=(0.5,)), ValueError, r"padding is \(0.5,\); give one integer"),
    (lambda: native.conv(X, W, padding="SAME"), ValueError, r"'SAME'; give one .* SAME at stride 1 the pair \(t // 2"),
    (lambda: native.conv(X, W, groups=1.0), TypeError, "groups is 1.0; give an integer"),
    (lambda: native.conv(X, W, x_layout=3), ValueError, "x_layout is 3; give the letters of 'NCW'"),
    (lambda: native.conv(X, W, x_layout="NWC"), ValueError,
     r"x has 4 channels in 1 groups and w takes 3 a group: x is \(1, 3, 4\) as NWC, w is \(1, 3, 2\) as OIW"),
    (lambda: native.conv(X, W, out_dtype="flot"), TypeError, "out_dtype is 'flot', which is no dtype; give one such"),
    (lambda: native.conv_transpose(X, W), ValueError,
     r"x has 3 channels and w takes 1: x is \(1, 3, 4\) as NCW, w is \(1, 3, 2\) as IOW; w is that of the forward"),
    (lambda: native.conv_transpose(X, W[0]), ValueError, r"as many spatial ones, got \(1, 3, 4\) and \(3, 2\)"),
    (lambda: native.conv_transpose(X, W.astype(np.float32)), TypeError, "conv_transpose takes operands of one dtype"),
    (lambda: native.conv_transpose(X, V, 2, output_padding=2), ValueError,
     r"output_padding is 2; each entry is below the stride or the dilation of its axis, which are \(2,\) and \(1,\)"),
    (lambda: native.conv_transpose(X, V, padding="SAME"), ValueError, "padding is 'SAME'; give one integer"),
    (lambda: native.matmul(F32, F32, out_dtype="flot"), TypeError, "out_dtype is 'flot', which is no dtype"),
    (lambda: native.matmul(F32, F32, out_dtype="float64"), TypeError, "a product of float32 is float32, not float64"),
    (lambda: native.matmul(F32.astype(ml_dtypes.bfloat16), F32.astype(ml_dtypes.bfloat16), "float64"), TypeError,
     "a product of bfloat16 is bfloat16 or the float32 accumulator, not float64"),
    (lambda: native.pack(np.ones((2, 2)) * 1j), TypeError, "got complex128; .* compute with x.real and x.imag"),
    (lambda: native.matmul(["a"], F32), TypeError, r"got <U1; make it an array .* \(astype\)"),
    (lambda: native.conv_transpose(X, np.ones((3, 3, 2)), groups=2), ValueError, "does not divide the 3 input"),
    (lambda: native.sum(np.arange(3)), TypeError, "sum takes float16, bfloat16, float32 or float64, got int64"),
    (lambda: native.sum(F32, axis=1), ValueError, "axis 1 is out of bounds"),
    (lambda: native.sum(np.ones((2, 2)), axis=(0, 0)), ValueError, "repeated axis"),
    (lambda: native.any(F32), TypeError, "any takes booleans, got float32; convert it first"),
    (lambda: native.argmax(np.ones((0, 2)), axis=0), ValueError, "argmax over no elements has no index"),
    (lambda: native.argmax(F32, dtype="int8"), TypeError, "argmax returns int32 or int64, not int8"),
    (lambda: native.argmax(np.ones(2, complex)), TypeError, "got complex128"),
    (lambda: native.cumsum(F32, axis=3), ValueError, "out of bounds"),
    (lambda: native.scatter_add(F32, np.array([0.0]), F32[:1]), TypeError, "takes integer indices, got float64"),
    (lambda: native.scatter_add(F32, np.array([0]), F32), ValueError, "takes updates of shape"),
    (lambda: native.apply("exq", F32), ValueError, "there is no elementwise operation 'exq'; there are abs, acos"),
    (lambda: native.apply("add", F32), ValueError, "add takes 2 operands, got 1"),
    (lambda: native.apply("add", F32, F32.astype(float)), TypeError, "one dtype, got float32, float64"),
    (lambda: native.apply("add", F32, np.ones(2, np.float32)), ValueError, r"shapes \(3,\), \(2,\) do not broadcast"),
    (lambda: native.apply("exp", np.arange(3)), TypeError, "exp has no rule for int64; convert the operands first"),
    (lambda: native.apply("convert", F32), ValueError, "convert needs dtype="),
    (lambda: native.apply("convert", F32, dtype="S3"), TypeError, "has no dtype |S3"),
    (lambda: native.apply("exp", F32, dtype=float), ValueError, "exp takes no dtype="),
    (lambda: native.apply("integer_pow", F32), ValueError, "integer_pow needs exponent="),
    (lambda: native.apply("select", F32, F32, F32), TypeError, "select takes a boolean condition, got float32"),
])  # fmt: skip
def test_errors_say_what_and_the_way_out(call, error, message):
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize("name", ["sum", "prod", "mean", "max", "min"])
def test_over_no_elements(agree, name):
    for dtype in (np.float32, np.float64, ml_dtypes.bfloat16, np.float16):
        agree(name, np.ones((3, 0, 2), dtype), axis=1)
        agree(name, np.ones((0, 2), dtype), axis=1, keepdims=True)


@pytest.mark.parametrize("dtype", ["int8", "int32", "int64", "uint8", "uint64", "bool"])
def test_max_and_argmax_of_integers(agree, dtype):
    x = np.random.default_rng(0).integers(0, 2 if dtype == "bool" else 100, (5, 40)).astype(dtype)
    for name in ("max", "min", "argmax", "argmin"):
        agree(name, x, axis=1)


def test_byte_order_and_misaligned_operands(agree, numbers):
    x = numbers(0, (4, 6), np.float32)
    agree("sum", x.astype(">f4"), axis=0, expected=native.sum(x, axis=0))
    raw = bytearray(4 * 24 + 1)
    odd = np.frombuffer(raw, np.uint8)[1:].view(np.float32).reshape(4, 6)
    odd[...] = x
    agree("matmul", odd, odd.T, expected=native.matmul(x, x.T))
    integers = np.array([[2**64 - 1, 0, 2**63]], np.uint64)
    agree("max", integers, axis=1)
    agree("min", integers[:0], axis=0)
