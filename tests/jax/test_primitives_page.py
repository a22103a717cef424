"""docs/primitives.md has a line for each primitive of the installed JAX, and is what the rules say today."""

import subprocess
import sys
from pathlib import Path

import jax
import jax.extend.core as jex

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "primitives.md"


def test_the_page_is_what_the_rules_say_and_no_primitive_is_left_out():
    """In a process of its own: which modules of JAX are loaded decides which primitives there are."""
    ran = subprocess.run(
        [sys.executable, "-m", "dev.primitives", "--check"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_public_primitives_are_on_the_page():
    names = {p.name for p in vars(jex.primitives).values() if isinstance(p, jex.Primitive)}
    assert len(names) > 100
    cells = {
        w for line in PAGE.read_text().splitlines() if line.startswith("| ") for w in line.split("|")[1].split(",")
    }
    missing = names - {c.strip() for c in cells}
    assert not missing or f"jax {jax.__version__}," not in PAGE.read_text()


def test_what_a_check_complains_about(monkeypatch, tmp_path):
    """Negative control: a new primitive, a rule that no sample reaches, a changed page."""
    monkeypatch.syspath_prepend(str(ROOT))
    from dev import primitives

    found = [primitives.Line("add", "samebits.jax.rules._elementwise", {"f": {"portable ELT-1": None}})]
    page = tmp_path / "primitives.md"
    page.write_text(primitives.page(found))
    monkeypatch.setattr(primitives, "PAGE", page)
    assert list(primitives.problems(found, [], [])) == []
    new, unreached = primitives.problems(found, ["brand_new"], ["never_asked"])
    assert "primitives without a line: brand_new" in new
    assert "never_asked" in unreached
    page.write_text(page.read_text().replace("ELT-1", "ELT-2"))
    (stale,) = primitives.problems(found, [], [])
    assert "stale" in stale
