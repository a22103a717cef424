"""A Diffrax neural ODE, 10-100-100-10, alone and under vmap: the solver's steps are part of what may drift.

samebits audit examples/neural_ode.py --per-example --rows 8        python examples/neural_ode.py
"""

import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

net = eqx.nn.MLP(10, 10, 100, 2, activation=jax.nn.softplus, key=jax.random.PRNGKey(42))


def vector_field(t, y, args):
    """dy/dt [10]: the network, given as args."""
    return args(y)


def solve(net, y0):
    """y0 [10] -> the number of steps, the final state [10]."""
    solution = diffrax.diffeqsolve(
        diffrax.ODETerm(vector_field),
        diffrax.Tsit5(),
        t0=0.0,
        t1=50.0,
        dt0=0.02,
        y0=y0,
        args=net,
        stepsize_controller=diffrax.PIDController(rtol=1e-4, atol=1e-6),
    )
    assert solution.ys is not None
    return solution.stats["num_steps"], solution.ys[-1]


def fn(y0):
    """The solve with the network above."""
    return solve(net, y0)


def make_input(n):
    """n initial states: two at zero, the others small and random."""
    drawn = jax.random.normal(jax.random.PRNGKey(1), (max(n - 2, 0), 10)) * 0.1
    return jnp.concatenate([jnp.zeros((2, 10)), drawn])[:n]


def main():
    """Solves the first trajectories alone and among 64, stock and invariant."""
    from samebits.jax import invariant

    y0 = make_input(64)
    for name, f in (("stock", fn), ("invariant", invariant(fn))):
        alone = [jax.device_get(jax.jit(f)(row)) for row in y0]
        steps, ys = jax.device_get(jax.jit(jax.vmap(f))(y0))
        moved = sum(a[0] != s for a, s in zip(alone, steps, strict=True))
        drifted = sum(a[1].tobytes() != y.tobytes() for a, y in zip(alone, np.asarray(ys), strict=True))
        print(f"{name:9}  zero state: {alone[0][0]} steps alone, {steps[0]} among 64", end="; ")
        print(f"of 64 rows {moved} take another number of steps, {drifted} end in other bits")


if __name__ == "__main__":
    main()
