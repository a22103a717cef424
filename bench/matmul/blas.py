"""MKL (the `mkl` wheel) and OpenBLAS (the one inside NumPy's wheel), through their CBLAS with 64-bit integers."""

import ctypes
import sys
from functools import cache
from importlib.metadata import PackageNotFoundError, files, version
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

from bench.harness.native import NativeCall
from bench.matmul.operands import Operands

ROW_MAJOR, TRANS, NO_TRANS, B_MATRIX = 101, 112, 111, 162


@cache
def mkl() -> ctypes.CDLL | None:
    """libmkl_rt; None where the wheel is not installed."""
    try:
        paths = [Path(str(f.locate())).resolve() for f in files("mkl") or () if f.name.startswith("libmkl_rt.so")]
    except PackageNotFoundError:
        return None
    return ctypes.CDLL(str(paths[0])) if paths else None


@cache
def openblas() -> ctypes.CDLL | None:
    """The library that NumPy's wheel has loaded already; None for a NumPy built in another way."""
    folder = Path(np.__file__).parents[1] / "numpy.libs"
    found = sorted(folder.glob("libscipy_openblas64_*")) if folder.is_dir() else []
    return ctypes.CDLL(str(found[0])) if found else None


def _fields(operands: Operands) -> dict[str, Any]:
    case = operands.case
    m, n, k = case.m, case.n, case.k
    return {
        "batch": case.batch, "m": m, "n": n, "k": k,
        "lda": m if case.layout == "TN" else k, "ldb": k if case.layout == "NK" else n, "ldout": n,
        "batch_a": m * k, "batch_b": 0 if case.shared else k * n, "batch_out": m * n,
        "transpose_a": case.layout == "TN", "transpose_b": case.layout == "NK", "itemsize": case.itemsize,
    }  # fmt: skip


def _calls(operands: Operands, library: ctypes.CDLL, name: str, batched: str | None) -> list[NativeCall]:
    case, t = operands.case, "s" if operands.case.dtype == "float32" else "d"

    def call(runner: str, function: str) -> NativeCall:
        addresses = [b.ctypes.data for b in operands.ring]
        f = getattr(library, name.format(t + function))
        return NativeCall(t + runner, f, operands.a, addresses, operands.out, keep=operands.ring, **_fields(operands))

    if case.batch > 1:
        return [call("gemm_batch", batched) if batched else call("gemm_loop", "gemm")]
    return [call("gemm", "gemm"), *([call("gemv", "gemv")] if case.m == 1 and case.layout != "TN" else [])]


def mkl_plain(operands: Operands) -> list[NativeCall]:
    """cblas_?gemm, and ?gemv beside it where m is 1; cblas_?gemm_batch_strided for a batch."""
    library = mkl()
    return _calls(operands, library, "cblas_{}_64", "gemm_batch_strided") if library else []


def openblas_plain(operands: Operands) -> list[NativeCall]:
    """The same of OpenBLAS; a batch goes one product a call."""
    library = openblas()
    return _calls(operands, library, "scipy_cblas_{}64_", None) if library else []


def mkl_packed(operands: Operands) -> list[NativeCall]:
    """cblas_?gemm_compute on copies of b that cblas_?gemm_pack has made."""
    library, case = mkl(), operands.case
    if library is None or case.batch > 1:
        return []
    t, long = ("s", ctypes.c_float) if case.dtype == "float32" else ("d", ctypes.c_double), ctypes.c_int64
    letter, real = t
    size = getattr(library, f"cblas_{letter}gemm_pack_get_size_64")
    size.restype, size.argtypes = ctypes.c_size_t, [ctypes.c_int, long, long, long]
    pack = getattr(library, f"cblas_{letter}gemm_pack_64")
    pack.restype = None
    pack.argtypes = [*[ctypes.c_int] * 3, *[long] * 3, real, ctypes.c_void_p, long, ctypes.c_void_p]
    fields, ring = _fields(operands), []
    for b in operands.ring:
        room = np.empty(size(B_MATRIX, case.m, case.n, case.k) + 64, np.uint8)
        ring.append((room, room.ctypes.data + -room.ctypes.data % 64))
        transpose = TRANS if case.layout == "NK" else NO_TRANS
        pack(ROW_MAJOR, B_MATRIX, transpose, case.m, case.n, case.k, 1, b.ctypes.data, fields["ldb"], ring[-1][1])
    compute = getattr(library, f"cblas_{letter}gemm_compute_64")
    addresses = [address for _, address in ring]
    return [NativeCall(f"{letter}gemm_compute", compute, operands.a, addresses, operands.out, keep=ring, **fields)]


def mkl_bf16(operands: Operands) -> list[NativeCall]:
    """cblas_gemm_bf16bf16f32 on operands rounded to bf16."""
    library = mkl()
    if library is None:
        return []
    bf16 = ml_dtypes.bfloat16
    a = operands.a.astype(bf16)
    ring = [np.copy(b.swapaxes(1, 2).astype(bf16) if operands.case.layout == "NK" else b.astype(bf16), order="C")
            for b in operands.ring]  # fmt: skip
    addresses = [b.ctypes.data for b in ring]
    function = library.cblas_gemm_bf16bf16f32_64
    return [NativeCall("sgemm", function, a, addresses, operands.out, keep=ring, **_fields(operands))]


def described() -> dict[str, Any]:
    """What the two libraries say of themselves, and which of MKL's kernel libraries the process has loaded."""
    about: dict[str, Any] = {}
    if library := mkl():
        text = ctypes.create_string_buffer(256)
        library.MKL_Get_Version_String(text, len(text))
        library.MKL_CBWR_Get.restype = ctypes.c_int
        about["mkl"] = version("mkl")
        about["mkl_version"] = text.value.decode().strip()
        about["mkl_cbwr"] = library.MKL_CBWR_Get(-1)
        about["mkl_cbwr_auto_branch"] = library.MKL_CBWR_Get_Auto_Branch()
        if sys.platform == "linux":
            loaded = {line.split("/")[-1].strip() for line in Path("/proc/self/maps").read_text().splitlines()}
            about["mkl_kernels"] = sorted(x for x in loaded if x.startswith(("libmkl_def", "libmkl_avx", "libmkl_mc")))
    if library := openblas():
        library.scipy_openblas_get_config64_.restype = ctypes.c_char_p
        about["openblas"] = library.scipy_openblas_get_config64_().decode()
    return about
