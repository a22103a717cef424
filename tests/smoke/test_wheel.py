"""The wheel installs where there is no compiler, and computes there."""

import os
import subprocess
import sys
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.slow

MATMUL = """
import numpy, samebits, samebits.native, samebits.order
a = numpy.linspace(-1, 1, 33 * 300, dtype=numpy.float32).reshape(33, 300)
whole = samebits.native.matmul(a, a.T)
assert whole.tobytes() == samebits.order.matmul(a, a.T).tobytes()
assert whole[:1].tobytes() == samebits.native.matmul(a[:1], a.T).tobytes()
print(samebits.__file__)
"""


def run(*command: str | Path, **options) -> subprocess.CompletedProcess[str]:
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, check=False, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    build = ["wheel", "--no-build-isolation", "--no-deps", "--no-index", "--wheel-dir", folder]
    run(sys.executable, "-m", "pip", *build, ROOT)
    (built,) = folder.iterdir()
    return built


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):
    """The folder of a new environment that holds the wheel; its dependencies are those of the running environment."""
    folder = tmp_path_factory.mktemp("new")
    venv.create(folder, with_pip=False)
    pip = [sys.executable, "-m", "pip", "--python", folder / "bin/python", "install", "--no-deps", "--no-index"]
    run(*pip, wheel)
    (packages,) = folder.glob("lib/python*/site-packages")
    (packages / "dependencies.pth").write_text("\n".join(p for p in sys.path if p.endswith("site-packages")))
    return folder


def environment(folder: Path) -> dict[str, str]:
    """Nothing on PATH but the new environment, so no compiler either."""
    kept = {k: v for k, v in os.environ.items() if k in ("SAMEBITS_ISA", "SAMEBITS_THREADS", "LANG")}
    return kept | {"PATH": str(folder / "bin"), "HOME": str(folder)}


def test_the_tag_names_no_python(wheel):
    python, abi, platform = wheel.stem.split("-")[2:]
    assert (python, abi) == ("py3", "none")
    assert platform != "any"


def test_it_computes(installed):
    done = run(installed / "bin/python", "-c", MATMUL, env=environment(installed), cwd=installed)
    assert done.stdout.startswith(str(installed))


def test_doctor_runs(installed):
    done = run(installed / "bin/samebits", "doctor", env=environment(installed), cwd=installed)
    assert "contract" in done.stdout
