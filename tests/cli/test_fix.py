"""`samebits audit --fix`: what was tried, ranked; refusals; leaks."""

import json

import jsonschema
import pytest

from dev.schema import schema
from samebits import native
from samebits._errors import NativeError
from samebits.cli import main
from samebits.report import Report

FILE = """
import jax, jax.numpy as jnp, numpy as np
W = jnp.asarray(np.random.default_rng(1).normal(size=(48, 48)), jnp.float32)
def make_input(n):
    return jnp.asarray(np.random.default_rng(0).normal(size=(n, 48)), jnp.float32)
def fn(x):
    return jnp.tanh(x @ W)
def holds(x):
    return jnp.where(x > 0, x, 0)
def leak(x):
    return x - x.mean()
def refused(x):
    return jax.lax.dot(x, W.T, precision=jax.lax.DotAlgorithmPreset.F32_F32_F32)
def invariant_refused(x):
    import samebits.jax
    return samebits.jax.invariant(refused)(x)
"""


@pytest.fixture
def file(tmp_path):
    try:
        native.isa()
    except NativeError as e:
        pytest.skip(f"no native library: {e}")
    path = tmp_path / "model.py"
    path.write_text(FILE)
    return path


def fixed(file, name, tmp_path):
    out, page = tmp_path / "r.json", tmp_path / "r.html"
    status = main(["audit", f"{file}:{name}", "--rows", "64", "--fix", "--json", str(out), "--html", str(page)])
    data = json.loads(out.read_text())
    jsonschema.validate(data, schema())
    assert Report.from_dict(data).to_dict() == data
    assert "What was tried" in page.read_text()
    return status, data, {c["name"]: c for c in data["advice"]}


def test_what_holds_is_ranked(file, tmp_path, capsys):
    status, data, advice = fixed(file, "fn", tmp_path)
    assert status == {"holds": 0, "rounding": 1}[data["verdict"]]  # that of the program as it is
    if data["verdict"] == "holds":
        pytest.skip("the program as it is does not drift on this machine")
    assert advice["invariant"]["verdict"] == "holds"
    assert advice["invariant"]["promise"] == "by construction"
    assert advice["tiles of 8 rows"]["promise"] == "measured"
    assert all(c["seconds"] > 0 for c in advice.values() if not c["refusal"])
    holding = [c["seconds"] for c in data["advice"] if c["verdict"] == "holds"]
    assert holding == sorted(holding)
    assert data["advice"][0]["verdict"] == "holds"
    text = capsys.readouterr().out
    assert f"write {data['advice'][0]['code']}" in " ".join(text.split())
    assert "interleaved" in text


def test_a_refusal_is_shown(file, tmp_path, capsys):
    _, data, advice = fixed(file, "refused", tmp_path)
    if data["verdict"] == "holds":
        pytest.skip("the program as it is does not drift on this machine")
    assert "F32_F32_F32" in advice["invariant"]["refusal"]
    assert "invariant refused: dot_general" in capsys.readouterr().out


def test_nothing_is_tried_where_nothing_is_wrong(file, tmp_path, capsys):
    status, _, advice = fixed(file, "holds", tmp_path)
    assert (status, list(advice), advice["as it is"]["verdict"]) == (0, ["as it is"], "holds")
    assert "nothing is needed" in capsys.readouterr().out


def test_a_leak_is_for_the_source(file, tmp_path, capsys):
    status, _, advice = fixed(file, "leak", tmp_path)
    assert (status, list(advice)) == (2, ["as it is"])
    line = FILE[: FILE.index("x.mean")].count("\n") + 1
    assert f"change line {line}, so that it treats each row by itself" in " ".join(capsys.readouterr().out.split())


def test_a_refused_operation_could_not_run(file, capsys):
    assert main(["audit", f"{file}:invariant_refused", "--rows", "8"]) == 3
    err = capsys.readouterr().err
    assert err.startswith("error: dot_general")
    assert "way out: " in err
