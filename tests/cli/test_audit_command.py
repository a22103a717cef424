"""`samebits audit`: exit status, files written, and words instead of tracebacks."""

import json
import textwrap

import pytest

from samebits.cli import main

HEAD = """
import jax, jax.numpy as jnp, numpy as np
def make_input(n):
    return jnp.asarray(np.random.default_rng(0).normal(size=(n, 4)), jnp.float32)
ready = make_input(9)
no_rows = jnp.ones((0, 4))
uneven = {"a": jnp.ones((3, 4)), "b": jnp.ones(4)}
number = 3
def fn(x):
    return jnp.where(x > 0, x, -x)
def leak(x):
    return x - x.max()
def row(x):
    return x * 2
def broken(x):
    return x @ jnp.ones((9, 9))
def not_jax(x):
    return np.sin(x)
def bad_batch(n):
    raise OSError("no such data")
"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "model.py"
    path.write_text(textwrap.dedent(HEAD))
    return path


def test_holds(file, capsys):
    assert main(["audit", str(file), "--rows", "8"]) == 0
    assert capsys.readouterr().out.startswith("holds: ")


def test_leak_with_files(file, tmp_path, capsys):
    out = {k: tmp_path / f"r.{k}" for k in ("json", "html")}
    assert main(["audit", f"{file}:leak", "--rows", "8", "--json", str(out["json"]), "--html", str(out["html"])]) == 2
    data = json.loads(out["json"].read_text())
    assert data["verdict"] == "leak"
    assert data["first"]["line"] == HEAD[: HEAD.index("x.max()")].count("\n") + 1
    assert data["first"]["file"] == str(file)
    assert "<html" in out["html"].read_text()
    printed = "".join(capsys.readouterr().out.split())  # where lines break depends on the length of the path
    assert f"model.py:{data['first']['line']}inleak" in printed


def test_named_batch_and_per_example(file, capsys):
    assert main(["audit", f"{file}:row", "--batch", "ready", "--per-example"]) == 0
    assert "one row at a time, mapped, 9 rows" in capsys.readouterr().out
    assert main(["audit", f"{file}:row", "--batch", "ready", "--rows", "5"]) == 0
    assert "a function of the batch, 5 rows" in capsys.readouterr().out


def test_single_is_taken_as_a_function_of_one_row(tmp_path, capsys):
    path = tmp_path / "one.py"
    path.write_text(HEAD.replace("def fn(x):\n    return jnp.where(x > 0, x, -x)", "def single(x):\n    return -x"))
    assert main(["audit", str(path), "--rows", "4"]) == 0
    assert "one row at a time" in capsys.readouterr().out


BAD = {
    "missing file": ("nowhere.py", "nowhere.py does not exist"),
    "folder": (".", ". is a folder"),
    "missing name": ("model.py:nothing", "has no nothing"),
    "not callable": ("model.py:number", "is not a function but int"),
    "missing batch": ("model.py --batch nothing", "has no nothing"),
    "not jax": ("model.py:not_jax --rows 4", "not_jax is not a JAX function"),
    "no rows": ("model.py --batch no_rows", "the batch is empty (x: float32[0, 4])"),
    "uneven": ("model.py --batch uneven", "without a common leading axis: ['a']: float32[3, 4], ['b']: float32[4]"),
    "raises": ("model.py:broken --rows 4", "broken raised TypeError while running on the batch of 4 rows"),
    "batch raises": ("model.py --batch bad_batch", "bad_batch(256) does not run: OSError: no such data"),
    "one row": ("model.py --rows 1", "--rows 1: a batch needs at least 2 rows"),
    "wrong number": ("model.py --rows many", "--rows"),
    "wrong option": ("model.py --frobnicate", "--frobnicate"),
    "no file named": ("", "FILE.py"),
    "import fails": ("imports.py", "imports.py does not run: ModuleNotFoundError"),
    "syntax": ("syntax.py", "syntax.py does not run: SyntaxError"),
    "exits": ("exits.py", "exits.py does not run: SystemExit: 4"),
    "json": ("model.py --rows 4 --json nowhere/r.json", "cannot write nowhere/r.json"),
    "html": ("model.py --rows 4 --html nowhere/r.html", "cannot write nowhere/r.html"),
}


@pytest.mark.parametrize(("arguments", "message"), BAD.values(), ids=BAD.keys())
def test_bad_input(file, monkeypatch, capsys, arguments, message):
    monkeypatch.chdir(file.parent)
    (file.parent / "imports.py").write_text("import nothing_of_this_name")
    (file.parent / "syntax.py").write_text("def f(:")
    (file.parent / "exits.py").write_text("import sys; sys.exit(4)")
    assert main(["audit", *arguments.split()]) == 3
    err = capsys.readouterr().err
    assert err.startswith("error: ")
    assert message in err
    assert "\n  way out: " in err
    assert "Traceback" not in err


def test_the_place_in_the_users_file_is_shown(file, capsys):
    assert main(["audit", f"{file}:broken", "--rows", "4"]) == 3
    line = HEAD[: HEAD.index("jnp.ones((9, 9))")].count("\n") + 1
    assert f"--> {file}:{line} in broken" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["frobnicate"], ["doctor", "--x"], []])
def test_usage_errors(arguments, capsys):
    assert main(arguments) == 3
    assert "samebits" in "".join(capsys.readouterr())


@pytest.mark.parametrize("arguments", [["--help"], ["audit", "--help"], ["-h"]])
def test_help(arguments, capsys):
    assert main(arguments) == 0
    assert "Usage" in capsys.readouterr().out


def test_a_defect_of_ours_is_words_too(file, monkeypatch, capsys):
    def fail(*_, **__):
        raise RuntimeError("a defect")

    monkeypatch.setattr("samebits.cli._audit.audit", fail)
    assert main(["audit", str(file)]) == 3
    assert "samebits itself failed: RuntimeError: a defect" in capsys.readouterr().err
