"""`samebits audit --fix`: the invariant program beside the stock one, or its refusal."""

import json

import pytest

from samebits import native
from samebits._errors import NativeError
from samebits.cli import main

FILE = """
import jax, jax.numpy as jnp, numpy as np
W = jnp.asarray(np.random.default_rng(1).normal(size=(48, 48)), jnp.float32)
def make_input(n):
    return jnp.asarray(np.random.default_rng(0).normal(size=(n, 48)), jnp.float32)
def single(x):
    return jnp.tanh(W @ x)
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


def test_both_are_shown_with_their_times(file, tmp_path, capsys):
    out = tmp_path / "r.json"
    status = main(["audit", str(file), "--rows", "16", "--fix", "--json", str(out)])
    data = json.loads(out.read_text())
    assert status == {"holds": 0, "rounding": 1}[data["verdict"]]  # that of the stock program
    assert data["fix"]["report"]["verdict"] == "holds"
    assert data["fix"]["refusal"] is None
    assert 0 < data["fix"]["seconds"]["stock"]
    assert 0 < data["fix"]["seconds"]["invariant"]
    text = capsys.readouterr().out
    assert "samebits.jax.invariant(single)" in text
    assert "interleaved" in text


def test_a_refusal_is_shown(file, tmp_path, capsys):
    out = tmp_path / "r.json"
    assert main(["audit", f"{file}:refused", "--rows", "8", "--fix", "--json", str(out)]) == 0
    data = json.loads(out.read_text())["fix"]
    assert data["report"] is None
    assert "F32_F32_F32" in data["refusal"]
    assert "refused: dot_general" in capsys.readouterr().out


def test_a_refused_operation_could_not_run(file, capsys):
    assert main(["audit", f"{file}:invariant_refused", "--rows", "8"]) == 3
    err = capsys.readouterr().err
    assert err.startswith("error: dot_general")
    assert "way out: " in err
