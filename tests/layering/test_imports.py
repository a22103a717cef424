"""What `import samebits` must not import, seen from a fresh interpreter."""

import subprocess
import sys

import pytest

FRAMEWORKS = ("jax", "jaxlib", "torch", "equinox", "diffrax", "tensorflow")


def loaded(statements: str) -> set[str]:
    """The frameworks that a fresh interpreter has loaded after the statements."""
    code = f"{statements}\nimport sys\nprint(*(m for m in {FRAMEWORKS!r} if m in sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return set(done.stdout.split())


@pytest.mark.parametrize("name", ["", ".bits", ".order", ".native", "._audit", ".report", ".testing", ".cli"])
def test_imports_no_framework(name):
    assert loaded(f"import samebits{name}") == set()


def test_naming_the_audit_imports_no_framework():
    assert loaded("import samebits; samebits.audit; dir(samebits)") == set()


def test_the_check_can_fail():
    assert "jax" in loaded("import samebits; samebits.jax")
