"""The code of docs/first-five-minutes.md runs, and its test passes after the change that the page makes."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[2] / "docs" / "first-five-minutes.md").read_text()
MODEL, TEST, CHANGE = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)


def outcome(folder: Path, model: str) -> subprocess.CompletedProcess[str]:
    """pytest in a folder with these files."""
    (folder / "model.py").write_text(model)
    (folder / "test_model.py").write_text(TEST)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", str(folder)]
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def changed() -> str:
    imported, predict = CHANGE.strip().split("\n\n")
    last = MODEL.strip().splitlines()[-1]
    assert last.startswith("predict = ")
    return MODEL.replace("import jax\n", f"import jax\n{imported}\n", 1).replace(last, predict)


def test_after_the_change_the_test_passes(tmp_path):
    done = outcome(tmp_path, changed())
    assert done.returncode == 0, done.stdout
    assert "1 passed" in done.stdout


def test_before_it_the_test_fails_as_the_page_shows(tmp_path):
    done = outcome(tmp_path, MODEL)
    if done.returncode == 0:
        pytest.skip("the stock kernels of this machine agree")
    assert "mlp depends on its batch: rounding" in done.stdout
    assert "model.py:1" in done.stdout  # line 11, 12 or 13: one of the three products
    assert "samebits.jax.invariant(mlp)" in done.stdout


def test_a_leak_in_the_model_fails(tmp_path):
    leaky = MODEL.replace("jax.vmap(mlp)", "lambda x: jax.vmap(mlp)(x - x.mean(axis=0))")
    assert leaky != MODEL
    done = outcome(tmp_path, leaky)
    assert done.returncode == 1
    assert "leak" in done.stdout
