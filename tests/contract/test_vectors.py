"""The golden vectors come out of the reference and of each instruction set, and a wrong library fails them (VER-1)."""

import importlib.util
import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from samebits import bits, native

FOLDER = Path(__file__).parents[2] / "spec" / "vectors"
ROOT = FOLDER.parents[1]
NAMES = {"maximum": "max", "minimum": "min", "bitwise_and": "and", "bitwise_or": "or", "bitwise_xor": "xor",
         "bitwise_not": "not"}  # fmt: skip  # of samebits.native.apply


def load_generator():
    spec = importlib.util.spec_from_file_location("spec_vectors", FOLDER / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


GENERATOR = load_generator()
FILES = sorted(FOLDER.glob("*.txt"))


def run(child, case):
    """The case in a child process, as an operation of samebits.native."""
    if hasattr(native, case.operation):
        return case.call(partial(child, case.operation))
    keywords = dict(case.keywords)
    return child("apply", NAMES.get(case.operation, case.operation), *case.inputs, **keywords)


def test_each_family_has_a_file():
    assert {path.stem for path in FILES} == set(GENERATOR.FAMILIES)


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_vectors(children, path):
    cases = list(GENERATOR.read(path))
    assert len(cases) > 8
    wrong = [f"reference: {c.name}" for c in cases if not bits.same(c.compute(), c.output)]
    wrong += [f"{child.label}: {c.name}" for c in cases for child in children if not bits.same(run(child, c), c.output)]
    assert wrong == []


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_the_generator_still_makes_the_stored_inputs(path):
    made = list(GENERATOR.FAMILIES[path.stem][1]())
    stored = list(GENERATOR.read(path))
    assert [c.name for c in made] == [c.name for c in stored]
    for a, b in zip(made, stored, strict=True):
        assert a.keywords == b.keywords
        assert [bits.same(x, y) for x, y in zip(a.inputs, b.inputs, strict=True)] == [True] * len(a.inputs)


@pytest.fixture(scope="module")
def wrong_library(tmp_path_factory):
    """The library with chunks of 128, with the generic kernels alone: the bits of all sets are the same.

    They are built without optimisation, which is quick and must not move a bit either.
    """
    cmake = shutil.which("cmake", path=f"{Path(sys.executable).parent}:{Path('/usr/bin')}") or shutil.which("cmake")
    if not cmake or not (shutil.which("c++") or shutil.which("g++")):
        pytest.skip("no cmake or no C++ compiler")
    folder = tmp_path_factory.mktemp("chunk128")
    ninja = shutil.which("ninja", path=str(Path(sys.executable).parent)) or shutil.which("ninja")
    generator = ["-G", "Ninja", f"-DCMAKE_MAKE_PROGRAM={ninja}"] if ninja else []
    options = ["-DSAMEBITS_TEST_CHUNK=128", "-DSAMEBITS_GENERIC_ONLY=ON", "-DSAMEBITS_KERNEL_OPTIMIZATION=-O0"]
    options += ["-DCMAKE_BUILD_TYPE=None"]
    for command in (
        [cmake, "-S", str(ROOT), "-B", str(folder), *generator, *options],
        [cmake, "--build", str(folder), "--target", "samebits", "--parallel", "2"],
    ):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return folder


def test_another_chunk_length_fails_the_vectors(wrong_library, new_child):
    child = new_child("generic", 2, wrong_library)
    for family in ("dot", "sum", "cumulative"):
        failed, passed_long = [], []
        for case in GENERATOR.read(FOLDER / f"{family}.txt"):
            terms = max((n for x in case.inputs for n in x.shape), default=0)
            if not bits.same(run(child, case), case.output):
                failed.append((case.name, terms))
            elif terms > 128:
                passed_long.append(case.name)
        assert failed, family
        assert min(terms for _, terms in failed) > 128, failed
        # A result narrowed to eight or eleven bits may come out the same all the same.
        assert len(failed) >= len(passed_long), (family, failed, passed_long)
