"""Exported programs, donated buffers, static arguments."""

import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import export as jax_export

import samebits.jax as sj
from samebits import UncoveredOperation
from tests.jax.programs import bits, normal

W, X = normal(33, 48, seed=1), normal(16, 33, seed=2)


def layer(w, x):
    return jax.nn.softmax(jnp.tanh(x @ w))


_READ = """
import sys, jax, numpy as np, samebits.jax as sj
w, x = (np.load(p) for p in sys.argv[2:4])
out = sj.deserialize(open(sys.argv[1], "rb").read()).call(w, x)
np.save(sys.argv[4], out)
"""


def test_another_process_reads_it(tmp_path):

    paths = [tmp_path / name for name in ("program", "w.npy", "x.npy", "out.npy")]
    paths[0].write_bytes(sj.export(sj.invariant(layer))(W, X).serialize())
    np.save(paths[1], W)
    np.save(paths[2], X)
    subprocess.run([sys.executable, "-c", _READ, *map(str, paths)], check=True)
    assert bits(np.load(paths[3])) == bits(sj.invariant(layer)(W, X))


def test_gradients_and_jitted_functions_are_exported():
    f = jax.jit(jax.grad(lambda w, x: sj.invariant(layer)(w, x)[:, 0].sum()))
    again = sj.deserialize(sj.export(f, platforms=["cpu"])(W, X).serialize())
    assert bits(again.call(W, X)) == bits(f(W, X))


def test_jax_export_alone_names_the_call():
    with pytest.raises(ValueError, match="samebits_program"):
        jax_export.export(jax.jit(sj.invariant(layer)))(W, X)


def test_symbolic_shapes_are_refused():
    (n,) = jax_export.symbolic_shape("n")
    with pytest.raises(UncoveredOperation, match="a native program has its sizes as numbers"):
        sj.export(sj.invariant(layer))(W, jax.ShapeDtypeStruct((n, 33), jnp.float32))


@pytest.mark.parametrize("junk", [b"", b"junk", bytes(range(256))])
def test_what_is_no_export_says_so(junk):
    with pytest.raises(ValueError, match=f"these {len(junk)} bytes are not that"):
        sj.deserialize(junk)


def test_donated_buffers():
    f = jax.jit(sj.invariant(lambda w, g: w - 0.1 * g), donate_argnums=0)
    w = jnp.array(W)
    out = f(w, W)
    assert w.is_deleted()
    assert bits(out) == bits(sj.invariant(lambda w, g: w - 0.1 * g)(W, W))


def test_static_arguments():
    f = jax.jit(sj.invariant(lambda n, x: x[:n] / 3), static_argnums=0)
    for n in (5, 4, 5):
        assert bits(f(n, X)) == bits(sj.invariant(lambda x, n=n: x[:n] / 3)(X))


def test_numbers_under_jit_are_the_callers():
    f = sj.invariant(lambda x, s: (s * jnp.abs(x), x * s))
    for s in (0.0, -0.0, 1, True, 1.0):
        inside = jax.jit(lambda x, s=s: f(x, s))(X)
        assert bits(inside) == bits(jax.jit(sj.invariant(lambda x, s=s: (s * jnp.abs(x), x * s)))(X))
