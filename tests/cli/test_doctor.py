"""`samebits doctor` says what a bug report needs, with the native library or without."""

import pytest

from samebits.cli import _doctor, main
from samebits.native._library import library


def test_lines(capsys):
    assert main(["doctor"]) == 0
    lines = dict(line.split(None, 1) for line in capsys.readouterr().out.splitlines() if line[:1] != " ")
    assert {"samebits", "python", "numpy", "jax", "jaxlib", "torch", "cpu", "subnormals", "libsamebits"} <= set(lines)


def test_instruction_sets_of_an_arm_machine(monkeypatch, capsys):
    monkeypatch.setattr("samebits.native.isas", lambda: ["generic", "neon"])
    monkeypatch.setattr("samebits.native.isa", lambda: "neon")
    assert main(["doctor"]) == 0
    assert "generic neon; in use: neon" in capsys.readouterr().out


@pytest.fixture
def no_library(monkeypatch, tmp_path):
    monkeypatch.setenv("SAMEBITS_LIBRARY_DIR", str(tmp_path))
    library.cache_clear()
    yield tmp_path
    library.cache_clear()


def test_without_the_library(no_library, capsys):
    assert main(["doctor"]) == 0
    out = capsys.readouterr().out
    assert "DOES NOT LOAD: libsamebits.so was not found" in out.replace(".dylib", ".so")
    assert str(no_library) in out


def test_a_cpu_without_a_description(monkeypatch):
    def missing(*_, **__):
        raise FileNotFoundError

    monkeypatch.setattr("pathlib.Path.read_text", missing)
    name, flags = _doctor._cpu()
    assert name
    assert flags == set()
