"""Tensor parallelism: the reduced axis is split (spec: SPLIT)."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import PartitionSpec as P

import samebits.jax as sj
from samebits import UncoveredOperation, order
from tests.jax.devices._common import COUNTS, check, compiled, mesh, raises
from tests.jax.programs import bits, normal


def split_product(f, n, a, b):
    return jax.jit(jax.shard_map(f, mesh=mesh(n), in_specs=(P(None, "d"), P("d")), out_specs=P()))(a, b)


@check
def split_products_have_the_bits_of_whole_ones():
    a, b = normal(5, 2048, seed=1), normal(2048, 6, seed=2)
    want = order.matmul(np.asarray(a), np.asarray(b))
    for n in COUNTS:
        assert bits(split_product(sj.invariant(lambda a, b: lax.psum(a @ b, "d")), n, a, b)) == bits(want)
    narrow = [v.astype(jnp.bfloat16) for v in (a, b)]

    def f(a, b):
        return lax.psum(jnp.matmul(a, b, preferred_element_type=jnp.float32), "d").astype(jnp.bfloat16)

    want = order.matmul(*map(np.asarray, narrow))
    assert all(bits(split_product(sj.invariant(f), n, *narrow)) == bits(want) for n in COUNTS)


@check
def stock_split_products_do_not():
    """Negative control."""
    a, b = normal(5, 4096, seed=1), normal(4096, 6, seed=2)
    found = {str(bits(split_product(lambda a, b: lax.psum(a @ b, "d"), n, a, b))) for n in COUNTS}
    assert len(found) > 1


@check
def other_splits_are_refused():
    a, b = normal(5, 96), normal(96, 6)

    def refusal(f, *args):
        return raises(UncoveredOperation, lambda: split_product(sj.invariant(f), 8, *args))

    text = refusal(lambda a, b: lax.psum(a @ b, "d"), a, b)
    assert "products.py" in text
    assert "each over 12 terms: their sum has the bits of the whole product only if each device has 256, 512" in text
    assert "way out: use samebits.jax.split_matmul, or gather the operands (jax.lax.all_gather) and multiply" in text
    wide = normal(5, 8 * 768), normal(8 * 768, 6)  # three chunks each: no subtree
    assert "768 terms" in refusal(lambda a, b: lax.psum((a @ b).T, "d"), *wide)
    scattered = (normal(8, 320), normal(320, 6))
    text = refusal(lambda a, b: lax.pmax(lax.psum_scatter(a @ b, "d", tiled=True), "d"), *scattered)
    assert "40 terms" in text
    narrow = (normal(5, 2048).astype(jnp.bfloat16), normal(2048, 6).astype(jnp.bfloat16))
    assert "preferred_element_type" in refusal(lambda a, b: lax.psum(a @ b, "d"), *narrow)


@check
def gathered_operands_are_a_way_out():
    a, b = normal(5, 96), normal(96, 6)

    def f(a, b):
        a, b = lax.all_gather(a, "d", axis=1, tiled=True), lax.all_gather(b, "d", tiled=True)
        return lax.pmax(a @ b, "d")

    want = order.matmul(np.asarray(a), np.asarray(b))
    assert all(bits(split_product(sj.invariant(f), n, a, b)) == bits(want) for n in COUNTS)


@check
def split_matmul_takes_any_length():
    for k, dtype in [(96, "float32"), (6144, "float32"), (6144, "bfloat16"), (2048, "float32")]:
        a, b = normal(2, 3, k, seed=k).astype(dtype), normal(k, 6, seed=k + 1).astype(dtype)
        want = bits(order.matmul(np.asarray(a), np.asarray(b)))
        whole = bits(jax.grad(lambda a, b: jnp.sum(sj.invariant(jnp.matmul)(a, b) ** 2), (0, 1))(a, b))
        for n, check_vma in ((1, True), (2, True), (8, True), (8, False)):
            specs = {"in_specs": (P(None, None, "d"), P("d")), "check_vma": check_vma}
            f = jax.shard_map(lambda a, b: sj.split_matmul(a, b, "d"), mesh=mesh(n), out_specs=P(), **specs)
            assert bits(compiled(f, a, b)) == want, (k, dtype, n)
            if n < 8 or (k % 256 and not check_vma):
                continue  # gathered: JAX adds the derivatives of the devices then, which is refused
            gradient = jax.grad(sj.invariant(lambda a, b, f=f: jnp.sum(f(a, b) ** 2)), (0, 1))
            assert bits(compiled(gradient, a, b)) == whole, (k, dtype, n, check_vma)
    a = normal(3, 5)
    assert "contracts the last axis" in raises(ValueError, lambda: sj.split_matmul(a, a, "d"))
    assert "floats of one dtype" in raises(TypeError, lambda: sj.split_matmul(a, a.T.astype(jnp.bfloat16), "d"))
