"""The arrows of pyproject.toml hold, and the check notices what they forbid."""

import tomllib
from pathlib import Path

import grimp
import pytest

from dev.arrows import ArrowsContract

CONFIGURATION = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["tool"]["importlinter"]


@pytest.fixture
def graph():
    return grimp.build_graph("samebits", include_external_packages=True, exclude_type_checking_imports=True)


def broken(graph) -> list[str]:
    """What the contract says of an import graph."""
    (options,) = [c for c in CONFIGURATION["contracts"] if c["type"] == "arrows"]
    contract = ArrowsContract(options["name"], {"root_packages": ["samebits"]}, options)
    return contract.check(graph, verbose=False).metadata["broken"]


def test_the_arrows_hold(graph):
    assert broken(graph) == []


@pytest.mark.parametrize(
    ("importer", "imported"),
    [
        ("order", "scipy"),
        ("bits", "samebits.order"),
        ("native", "samebits.cli"),
        ("report", "samebits._audit"),
        ("_audit", "jax"),
        ("_audit", "samebits.jax"),
        ("jax", "torch"),
        ("jax", "samebits.torch"),
        ("torch", "samebits.jax"),
        ("testing", "samebits.cli"),
    ],
)
def test_what_they_forbid_is_found(graph, importer, imported):
    importer = f"samebits.{importer}._bad"
    graph.add_module(importer)
    if imported not in graph.modules:
        graph.add_module(imported, is_squashed=not imported.startswith("samebits"))
    graph.add_import(importer=importer, imported=imported, line_number=7, line_contents="")
    assert f"{importer} -> {imported} (line 7)" in broken(graph)


def test_a_module_without_an_arrow_is_found(graph):
    graph.add_module("samebits._stray")
    assert broken(graph) == ["samebits._stray belongs to no part: give it an arrow in pyproject.toml"]
