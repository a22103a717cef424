"""NEON under qemu-user: golden vectors, random calls and the scalar twins, on a CPU that this machine does not have.

The library and native/test/{replay,stress}.cc are cross-compiled into build/neon. Without the tools (Debian:
g++-aarch64-linux-gnu, qemu-user) the tests are skipped, or fail where SAMEBITS_REQUIRE_NEON is set, as .ci/run does.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from samebits import native
from samebits.order._small import SMALL

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "build" / "neon"
QEMU = ("qemu-aarch64", "-L", "/usr/aarch64-linux-gnu")
TOOLS = ("aarch64-linux-gnu-g++", "aarch64-linux-gnu-objdump", "qemu-aarch64")
ISAS = ("generic", "neon")
FUSING = ("conv.cc.o", "dot.cc.o", "math.cc.o")  # kernels whose source has fused multiply-adds
# Done in NumPy: bits are moved, none is computed.
SILENT = {f"{name} of {dtype}" for name in ("neg", "abs", "copysign") for dtype in ("float16", "bfloat16")}
SILENT |= {f"convert of {dtype}" for dtype in ("float32", "float64", *SMALL)}  # to and from 8 bits: integers (CVT-10)
NOT_RECORDED = {
    "Packed": "a class", "Partial": "a class", "isa": "a question", "isas": "a question", "threads": "a question",
    "contract_version": "a question", "names": "a question", "pack": "stress.cc has packed products",
    "matmul_partials": "stress.cc has partial sums", "join_partials": "stress.cc has partial sums",
    "Accumulator": "made of accumulate and partial sums", "accumulate_partials": "made of accumulate",
}  # fmt: skip


def run(*command: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(c) for c in command], capture_output=True, text=True, check=False, cwd=ROOT,
                          env=os.environ | environment)  # fmt: skip


def succeed(done: subprocess.CompletedProcess[str]) -> str:
    assert done.returncode == 0, f"status {done.returncode}\n{done.stdout[-3000:]}{done.stderr[-3000:]}"
    return done.stdout


@pytest.fixture(scope="module")
def tools():
    missing = [t for t in TOOLS if not shutil.which(t)]
    if missing:
        why = f"no {', '.join(missing)}: apt-get install g++-aarch64-linux-gnu qemu-user"
        if os.environ.get("SAMEBITS_REQUIRE_NEON"):
            pytest.fail(why)
        pytest.skip(why)


@pytest.fixture(scope="module")
def built(tools):
    """The folder with the cross-compiled library and programs. Kernels by -O1: it moves no bit."""
    own = str(Path(sys.executable).parent)
    cmake, ninja = (shutil.which(name, path=own) or shutil.which(name) for name in ("cmake", "ninja"))
    assert cmake
    generator = ["-G", "Ninja", f"-DCMAKE_MAKE_PROGRAM={ninja}"] if ninja else []
    options = ["-DSAMEBITS_WERROR=ON", "-DSAMEBITS_KERNEL_OPTIMIZATION=-O1", "-DSAMEBITS_XLA_INCLUDE_DIR="]
    options += ["-DCMAKE_CXX_FLAGS=-Wno-maybe-uninitialized"]  # -O1 leaves loops that fill a vector lane by lane
    succeed(run(cmake, "-S", ROOT, "-B", FOLDER, "--toolchain", "dev/aarch64.cmake", *generator, *options))
    targets = ("samebits", "samebits_replay", "samebits_stress")
    succeed(run(cmake, "--build", FOLDER, "--parallel", "2", "--target", *targets))
    return FOLDER


@pytest.fixture(scope="module")
def recorded(tools, tmp_path_factory):
    """The folder with recorded calls, and what their process said of them."""
    folder = tmp_path_factory.mktemp("recorded")
    return folder, json.loads(succeed(run(sys.executable, "-m", "tests.neon.record", folder)).splitlines()[-1])


def replay(built, file, isa, *options, threads=1):
    return run(*QEMU, built / "samebits_replay", file, *options, SAMEBITS_ISA=isa, SAMEBITS_THREADS=str(threads))


def test_each_family_is_recorded(recorded):
    _, said = recorded
    assert said["vectors"] > 500
    assert said["calls"] > 1000
    assert said["dense"] > 20
    assert set(said["silent"]) <= SILENT


def test_each_function_is_recorded(recorded):
    public = {name for name in vars(native) if not name.startswith("_")}
    public -= {name for name in public if type(getattr(native, name)).__name__ == "module"}
    assert public - set(recorded[1]["functions"]) - set(NOT_RECORDED) == set()


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("file", ["vectors", "calls", "dense"])
def test_the_bits_are_those_of_x86(built, recorded, file, isa):
    folder, said = recorded
    out = succeed(replay(built, folder / file, isa))
    assert out.splitlines()[-1] == f"{said[file]} cases, 0 wrong, with {isa} and 1 threads"


@pytest.mark.parametrize("isa", ISAS)
def test_with_threads(built, recorded, isa):
    folder, said = recorded
    out = succeed(replay(built, folder / "calls", isa, threads=3))
    assert out.splitlines()[-1] == f"{said['calls']} cases, 0 wrong, with {isa} and 3 threads"


@pytest.mark.parametrize("isa", ISAS)
def test_a_host_that_flushes_subnormals(built, recorded, isa):
    """FPCR with FZ and FZ16, and rounding toward zero: the same bits, and the mode is left as it was."""
    succeed(replay(built, recorded[0] / "vectors", isa, "--flush", threads=2))


def test_one_wrong_bit_is_found(built, recorded, tmp_path):
    whole = (recorded[0] / "vectors").read_bytes()
    (tmp_path / "wrong").write_bytes(whole[:-8] + bytes([whole[-8] ^ 1]) + whole[-7:])
    done = replay(built, tmp_path / "wrong", "neon")
    assert done.returncode == 1
    assert f"{recorded[1]['vectors']} cases, 1 wrong" in done.stdout
    (tmp_path / "cut").write_bytes(whole[:-8])
    done = replay(built, tmp_path / "cut", "neon")
    assert (done.returncode, done.stderr) == (2, "samebits_replay: the file ends within a case\n")


@pytest.mark.parametrize(("isa", "threads"), [("generic", 1), ("neon", 1), ("neon", 3)])
def test_the_c_abi_against_the_scalar_twins(built, isa, threads):
    options = ["100", "24"] if threads == 1 else ["300", "24", "--no-fork"]
    out = succeed(run(*QEMU, built / "samebits_stress", *options, SAMEBITS_ISA=isa, SAMEBITS_THREADS=str(threads)))
    assert f"with {isa} and {threads} threads" in out


def test_instruction_sets_of_another_cpu(built):
    done = run(*QEMU, built / "samebits_stress", SAMEBITS_ISA="avx2")
    assert done.returncode == 1
    assert "SAMEBITS_ISA=avx2 is not supported by this CPU; it can run generic,neon" in done.stderr
    assert succeed(run(*QEMU, built / "samebits_stress", "--isas")) == "generic,neon\n"


def test_nothing_is_contracted(built):
    """No fused multiply-add where the source has none (GCC fuses on AArch64 by default), and some where it has."""

    fused = {"fmla", "fmls", "fmadd", "fmsub", "fnmadd", "fnmsub"}
    for path in built.glob("CMakeFiles/kernels_neon.dir/**/*.cc.o"):
        code = succeed(run("aarch64-linux-gnu-objdump", "-d", "--no-show-raw-insn", path))
        found = [line for line in code.splitlines() if fused & set(line.split()[1:2])]
        assert (len(found) > 100) if path.name in FUSING else found == [], path
