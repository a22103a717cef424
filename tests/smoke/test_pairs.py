"""bench/pairs_f32.py finds nothing in some pairs of each family, and finds what NumPy's float32 gets wrong."""

import importlib
from pathlib import Path

import numpy as np
import pytest

from samebits import native


@pytest.fixture
def pairs(monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "bench"))
    return importlib.import_module("pairs_f32")


@pytest.mark.parametrize("name", ["pow", "atan2", "rem", "integer_pow"])
def test_the_library_is_right(pairs, name):
    for family in [*pairs.FAMILIES[name], *(["special operands"] if name != "integer_pow" else [])]:
        count, decided, wrong = pairs.check(name, family, 1, 2048)
        assert count > 2000, family
        assert wrong == [], family
        assert 0 <= decided <= count


@pytest.mark.parametrize("name", ["pow", "atan2"])
def test_a_wrong_function_is_found(pairs, name, monkeypatch):
    other = {"pow": np.power, "atan2": np.arctan2}[name]
    monkeypatch.setattr(native, "apply", lambda _, x, y: other(x, y))
    with np.errstate(all="ignore"):
        assert all(pairs.check(name, family, 1, 4096)[2] for family in pairs.FAMILIES[name])
