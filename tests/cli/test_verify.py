"""`samebits audit --certificate` and `samebits verify`."""

import json
import textwrap

import pytest

from samebits.cli import main

PROGRAM = """
import jax.numpy as jnp, numpy as np
def make_input(n):
    return {"x": jnp.asarray(np.random.default_rng(0).normal(size=(n, 4)), jnp.float32)}
def fn(b):
    return {"y": b["x"] * 2, "z": jnp.where(b["x"] > 0, b["x"], 0)}
"""


@pytest.fixture
def folder(tmp_path, capsys):
    (tmp_path / "model.py").write_text(textwrap.dedent(PROGRAM))
    assert main(["audit", str(tmp_path / "model.py"), "--rows", "9", "--certificate", str(tmp_path / "c.json")]) == 0
    capsys.readouterr()
    return tmp_path


def verify(folder, *options):
    return main(["verify", str(folder / "c.json"), *options])


def test_nothing_has_changed(folder, capsys):
    data = json.loads((folder / "c.json").read_text())
    assert (data["file"], data["name"], data["rows"], data["verdict"]) == ("model.py", "fn", 9, "holds")
    assert list(data["outputs"]) == ["1", "7", "9"]
    assert data["outputs"]["7"]["['y']"].startswith("float32[7, 4] ")
    assert verify(folder) == 0
    assert capsys.readouterr().out.startswith("the same bits and verdict")


def test_a_folder_may_move(folder, tmp_path_factory):
    new = tmp_path_factory.mktemp("new") / "there"
    folder.rename(new)
    assert verify(new) == 0


def test_other_bits(folder, capsys):
    file = folder / "model.py"
    file.write_text(file.read_text().replace("* 2", "* 2.0000002"))
    assert verify(folder) == 1
    out = capsys.readouterr().out
    assert out.startswith("other bits")
    assert "the program's source" in out
    assert "['y'] at 9 rows" in out
    assert "['z']" not in out


def test_a_worse_verdict(folder, capsys):
    file = folder / "model.py"
    file.write_text(file.read_text().replace("* 2", "- b['x'].mean()"))
    assert verify(folder) == 2
    assert "leak" in capsys.readouterr().out


def test_versions_and_machine_are_named(folder, capsys):
    path = folder / "c.json"
    data = json.loads(path.read_text())
    data["versions"]["jaxlib"], data["machine"]["cpu"], data["contract"] = "0.0.1", "another", 0
    path.write_text(json.dumps(data))
    assert verify(folder) == 0
    out = capsys.readouterr().out
    assert "0.0.1" in out
    assert "another" in out
    assert "order contract" in out


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{}", "null", '"x"', "[" * 5000, '{"format": 2}', b"\xff\xfe", "{bad"],
)
def test_hostile_certificates(folder, capsys, text):
    path = folder / "c.json"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    assert verify(folder) == 3
    error = capsys.readouterr().err
    assert "way out" in error
    assert "Traceback" not in error


@pytest.mark.parametrize(
    "change",
    [
        {"rows": "9"},
        {"outputs": []},
        {"outputs": {"1": 3}},
        {"verdict": None},
        {"batch": 3},
        {"format": 99},
        {"more": 1},
        {"verdict": "fine"},
        {"verdict": "not run"},
        {"rows": True},
        {"versions": {"jax": [1]}},
        {"machine": {"cpu": {"a": 1}}},
        {"outputs": {"9": {"output": 3}}},
    ],
)
def test_fields_of_other_kinds(folder, capsys, change):
    path = folder / "c.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    assert verify(folder) == 3
    assert "no certificate of format 1" in capsys.readouterr().err


@pytest.mark.parametrize(
    "change",
    [
        {"file": "a" * 5000 + ".py"},
        {"file": "\0"},
        {"file": "/etc/passwd"},
        {"name": "\ud800"},
        {"name": "\x1b[2J"},
        {"rows": -3},
        {"rows": 10**15},
        {"batch": "\x1b[2J"},
    ],
)
def test_values_that_lead_nowhere(folder, capsys, change):
    path = folder / "c.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    assert verify(folder) == 3
    error = capsys.readouterr().err
    assert "way out" in error
    assert "samebits itself failed" not in error
    assert "\x1b" not in error


def test_what_a_terminal_would_obey_is_shown(folder, capsys):
    path = folder / "c.json"
    data = json.loads(path.read_text())
    data["versions"]["jaxlib"], data["machine"]["cpu"] = "\x1b[2J\u202e", "half \ud800"
    path.write_text(json.dumps(data))
    assert verify(folder) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert r"\x1b[2J\u202e" in out
    assert r"half \ud800" in out
    assert "\x1b" not in out


def test_missing_files(folder, capsys):
    assert main(["verify", str(folder / "none.json")]) == 3
    (folder / "model.py").unlink()
    assert verify(folder) == 3
    assert "does not exist" in capsys.readouterr().err
