"""Lineax: direct solvers are batch level, iterative ones take as many steps alone as vmapped."""

import jax
import jax.numpy as jnp
import lineax as lx
import pytest

import samebits
import samebits.jax as sj
from tests.jax.programs import normal
from tests.libraries.compare import compare

B = normal(12, 6)
GENERAL = normal(12, 6, 6, seed=1)
SHARED = normal(24, 24, seed=2) / 4
ROWS = jnp.abs(normal(12, 24, seed=3)) * 0.1, normal(12, 24)
POSITIVE = jnp.einsum("nij,nkj->nik", GENERAL, GENERAL) + 0.1 * jnp.eye(6)
SPD = lx.positive_semidefinite_tag
DIRECT = {
    "lu": (lx.LU(), GENERAL, ()),
    "qr": (lx.QR(), GENERAL, ()),
    "svd": (lx.SVD(), GENERAL, ()),
    "cholesky": (lx.Cholesky(), POSITIVE, SPD),
    "auto": (lx.AutoLinearSolver(well_posed=None), GENERAL, ()),
}
ITERATIVE = {
    "cg": lx.CG(1e-5, 1e-5),
    "bicgstab": lx.BiCGStab(1e-4, 1e-4),
    "gmres": lx.GMRES(1e-4, 1e-4),
    "normal_cg": lx.Normal(lx.CG(1e-4, 1e-4)),
}


def solve(solver, tags, a, b):
    """The steps (none: 0), the solution."""
    solution = lx.linear_solve(lx.MatrixLinearOperator(a, tags), b, solver, throw=False)
    return jnp.asarray(solution.stats.get("num_steps", 0)), solution.value


@pytest.mark.parametrize("name", DIRECT)
def test_direct_solvers(name):
    """Stock holds as well on this machine: LAPACK is called matrix by matrix."""
    solver, a, tags = DIRECT[name]
    found = compare(lambda ab: solve(solver, tags, *ab), (a, B))
    assert found.invariant.drifted == []
    found.assert_close(rtol=1e-2, atol=1e-3)


def solve_without_a_matrix(solver, diagonal, b):
    """(W'W + diag) x = b for a W that all rows share, which vmap makes one product of."""
    operator = lx.FunctionLinearOperator(lambda v: SHARED.T @ (SHARED @ v) + diagonal * v, b, SPD)
    solution = lx.linear_solve(operator, b, solver, throw=False)
    return solution.stats["num_steps"], solution.value


def test_a_tridiagonal_solver():
    """Stock holds as well on this machine."""

    def f(row):
        diagonal, lower, upper, b = row
        return lx.linear_solve(lx.TridiagonalLinearOperator(diagonal, lower, upper), b).value

    found = compare(f, (jnp.abs(B) + 3, GENERAL[:, 0, :5], GENERAL[:, 1, :5], GENERAL[:, 2]))
    assert found.invariant.drifted == []
    found.assert_close()


@pytest.mark.parametrize("name", ITERATIVE)
def test_iterative_solvers(name):
    found = compare(lambda row: solve_without_a_matrix(ITERATIVE[name], *row), ROWS)
    assert found.invariant.drifted == []
    assert found.invariant.restepped == []
    assert found.stock.drifted
    assert found.stock.restepped or name == "gmres"  # whose restarts are the steps that it counts


def test_the_gradient_of_an_iterative_solve():
    """By Lineax's own derivative rule: another solve, transposed."""

    def loss(diagonal, b):
        return jnp.sum(solve_without_a_matrix(ITERATIVE["cg"], diagonal, b)[1] ** 2)

    found = compare(lambda row: jax.grad(loss, (0, 1))(*row), ROWS)
    assert found.invariant.drifted == []
    assert found.stock.drifted
    found.assert_close(rtol=1e-2, atol=1e-2)


def test_a_direct_solver_is_refused_at_level_portable():
    f = sj.invariant(lambda a, b: solve(lx.LU(), (), a, b), level="portable")
    with pytest.raises(samebits.UncoveredOperation, match="batch level"):
        f(GENERAL[0], B[0])
