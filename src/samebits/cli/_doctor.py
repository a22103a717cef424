"""`samebits doctor`: what a bug report needs to know about this machine, as plain text."""

import ctypes
import os
import platform
import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import numpy as np

import samebits
from samebits import native, order
from samebits._errors import NativeError
from samebits.native._library import library_path

PACKAGES = ("numpy", "ml_dtypes", "jax", "jaxlib", "equinox", "diffrax", "torch")
FLAGS = ("sse4_2", "avx", "avx2", "fma", "f16c", "avx512f", "avx512bw", "avx512vl", "avx512_bf16", "amx_bf16", "asimd")
VARIABLES = ("SAMEBITS_ISA", "SAMEBITS_THREADS", "SAMEBITS_LIBRARY_DIR", "XLA_FLAGS", "JAX_PLATFORMS", "JAX_ENABLE_X64",
             "OMP_NUM_THREADS")  # fmt: skip


def command() -> int:
    """Versions, CPU, instruction set, threads, contract version: paste it into a bug report."""
    for name, value in lines():
        print(f"{name:20s} {value}")
    return 0


def lines() -> Iterator[tuple[str, str]]:
    """Name and value of each line."""
    yield "samebits", samebits.__version__
    yield "order contract", f"version {order.VERSION}"
    yield "python", f"{platform.python_version()} ({sys.executable})"
    for name in PACKAGES:
        yield name, _version(name)
    yield "platform", platform.platform()
    model, flags = _cpu()
    yield "cpu", f"{model}, {_cores()} cores for this process"
    yield "cpu flags", " ".join(f for f in FLAGS if f in flags) or "unknown"
    yield "subnormals", _subnormals()
    yield from _native()
    yield "libsamebits_xla", _xla()
    yield "environment", " ".join(f"{v}={os.environ[v]}" for v in VARIABLES if v in os.environ) or "nothing set"


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "not installed"


def _cpu() -> tuple[str, set[str]]:
    """The CPU's name and its flags, where Linux tells them."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return platform.processor() or platform.machine(), set()
    pairs = (line.partition(":") for line in text.splitlines()[:60])
    fields = {key.strip(): value.strip() for key, _, value in pairs if value}
    flags = fields.get("flags") or fields.get("Features") or ""
    return fields.get("model name") or platform.machine(), set(flags.split())


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _subnormals() -> str:
    """How the host's thread treats them; samebits' own kernels keep them in any case."""
    smallest = np.array([0x00800000], np.uint32).view(np.float32)
    half = np.array([0x00400000], np.uint32).view(np.float32)
    made = (smallest * np.float32(0.5)).view(np.uint32)[0] != 0
    read = (half * np.float32(2)).view(np.uint32)[0] != 0
    if made and read:
        return "kept by this thread (FTZ and DAZ off)"
    return f"flushed by this thread (FTZ {'off' if made else 'on'}, DAZ {'off' if read else 'on'})"


def _native() -> Iterator[tuple[str, str]]:
    try:
        path = library_path()
        version, isas, isa, threads = native.contract_version(), native.isas(), native.isa(), native.threads()
    except (NativeError, OSError, AttributeError) as e:
        yield "libsamebits", f"DOES NOT LOAD: {e}"
        return
    yield "libsamebits", f"loads ({path}), contract version {version}"
    yield "instruction sets", f"{' '.join(isas)}; in use: {isa}"
    yield "threads", str(threads)


def _xla() -> str:
    try:
        path = library_path("libsamebits_xla")
        ctypes.CDLL(str(path))
    except (NativeError, OSError) as e:
        return f"DOES NOT LOAD: {e}"
    return f"loads ({path})"
