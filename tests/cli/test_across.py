"""`samebits audit --across`: child processes with other settings."""

import json

import jsonschema
import pytest

from dev.schema import schema
from samebits.cli import main
from samebits.report import Report

PROGRAM = """
import os, jax, jax.numpy as jnp, numpy as np
def make_input(n):
    return jnp.asarray(np.random.default_rng(0).normal(size=(n, 4)), jnp.float32)
def fn(x):
    return jnp.where(x > 0, x, 0)
def moved(x):
    return x + len(os.environ.get("OMP_NUM_THREADS", ""))
def broken(x):
    if os.environ.get("SAMEBITS_CHILD_CORES"):
        raise OSError("not here")
    return jnp.where(x > 0, x, 0)
"""


@pytest.fixture
def across(tmp_path, monkeypatch, capsys):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    (tmp_path / "m.py").write_text(PROGRAM)

    def run(name, kinds):
        out = tmp_path / "r.json"
        main(["audit", f"{tmp_path}/m.py:{name}", "--rows", "9", "--across", kinds, "--json", str(out)])
        data = json.loads(out.read_text())
        jsonschema.validate(data, schema())
        assert "across" not in Report.from_dict(data).to_dict()
        return data["across"], capsys.readouterr().out

    return run


def test_the_same_bits_elsewhere(across):
    data, text = across("fn", "threads")
    assert list(data["digests"]) == ["as it is", "1 thread", "2 threads"]
    assert len({json.dumps(d) for d in data["digests"].values()}) == 1
    assert list(data["digests"]["as it is"]) == ["1", "7", "9"]
    assert "other bits" not in text


def test_other_bits_elsewhere(across):
    data, text = across("moved", "threads")
    assert data["digests"]["as it is"] != data["digests"]["1 thread"] == data["digests"]["2 threads"]
    assert "other bits" in text


def test_a_child_that_fails_is_named(across):
    data, text = across("broken", "threads")
    assert list(data["failed"]) == ["1 thread"]
    assert "1 thread did not run" in text


@pytest.mark.parametrize("kinds", ["", "gpu", "threads,gpu"])
def test_kinds_that_are_none(tmp_path, capsys, kinds):
    (tmp_path / "m.py").write_text(PROGRAM)
    assert main(["audit", str(tmp_path / "m.py"), "--across", kinds]) == 3
    assert "choose from threads,isa,precision" in capsys.readouterr().err
