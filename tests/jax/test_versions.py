"""What depends on JAX's version stands in _compat/ alone."""

import ast
from pathlib import Path

import jax
import jax.numpy as jnp
import pytest

import samebits
import samebits.jax as sj
from samebits.jax import _compat
from tests.jax.programs import bits, loss, network, normal

SOURCES = sorted(Path(samebits.__file__).parent.rglob("*.py"))
COMPAT = Path(_compat.__file__).parent


def _imports(path: Path) -> set[str]:
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {a.name for a in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {f"{node.module}.{a.name}" for a in node.names}
    return {n for n in names if f"{n}.".startswith(("jax._src.", "jax.extend."))}


def test_private_names_of_jax_stand_in_compat_alone():
    assert any(n.startswith("jax._src.") for p in COMPAT.glob("*.py") for n in _imports(p))
    others = [p for p in SOURCES if COMPAT not in p.parents]
    assert len(others) > 50
    assert [(str(p), _imports(p)) for p in others if _imports(p)] == []
    assert [str(p) for p in others if "jax._src" in p.read_text() or "jax.__version__" in p.read_text()] == []


@pytest.mark.parametrize("transform", [jax.grad, jax.hessian, jax.checkpoint], ids=["grad", "hessian", "checkpoint"])
def test_a_call_carries_what_it_closes_over(transform):
    """A value of an outer trace inside invariant() is an operand like any other, and is differentiated."""
    w, x = normal(7, 5, seed=4), normal(7)
    closed = jax.jit(transform(lambda w: sj.invariant(lambda x: loss(w, x))(x)))(w)
    passed = jax.jit(transform(lambda w: sj.invariant(loss)(w, x)))(w)
    assert bits(closed) == bits(passed)


def test_a_call_without_jit_is_compiled():
    with jax.disable_jit():
        eager = sj.invariant(network)(normal(33))
    assert bits(eager) == bits(sj.invariant(network)(normal(33)))


def test_calls_are_known_by_name():
    calls = {
        "jit": jax.jit(jnp.sin),
        "custom_jvp_call": jax.nn.relu,
        "remat2": jax.checkpoint(jnp.sin),
    }
    for name, f in calls.items():
        (eqn,) = jax.make_jaxpr(f)(1.0).jaxpr.eqns
        names = {eqn.primitive.name, *(e.primitive.name for j in _compat.sub_jaxprs(eqn.params) for e in _inner(j))}
        assert name in names
        assert {e.primitive for e in sj.coverage(f, 1.0).equations} <= {"sin", "max", "remat2"}


def _inner(jaxpr):
    return _compat.opened(jaxpr)[0].eqns
