"""An Equinox MLP 2-10-10-2 whose first rows depend on how many rows it is given.

samebits audit examples/mlp.py --fix        python examples/mlp.py
"""

import equinox as eqx
import jax
import numpy as np

key_net, key_x = jax.random.split(jax.random.PRNGKey(0))
net = eqx.nn.MLP(2, 2, 10, 2, key=key_net)


def fn(x):
    """x [n, 2] -> [n, 2]: the network on each row."""
    return jax.vmap(net)(x)


def make_input(n):
    """n rows of normal numbers: the first n of the 10,000 that the network is tried on."""
    return jax.random.normal(key_x, (10_000, 2))[:n]


def main():
    """Compares the first ten rows given on their own with the same rows of the whole batch, stock and invariant."""
    from samebits.jax import invariant

    x = make_input(10_000)
    for name, f in (("stock", fn), ("invariant", invariant(fn))):
        ten, all_rows = np.asarray(f(x[:10])), np.asarray(f(x))[:10]
        print(f"{name:9}  entries that differ: {np.sum(ten != all_rows)} of {ten.size}", end="  ")
        print(f"largest difference: {np.max(np.abs(ten - all_rows)):.2g}")


if __name__ == "__main__":
    main()
