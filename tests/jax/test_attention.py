"""The derivative of attention is what JAX derives from the composition, primitive by primitive (ATT-7 to ATT-9)."""

import jax
import numpy as np
import pytest

import samebits.jax as sj
from samebits import bits, native


@pytest.mark.parametrize("keys", [3, 20, 300])
def test_the_derivative_is_that_of_the_composition(keys):
    rng = np.random.default_rng(keys)
    q, k, v, g = (rng.standard_normal(s, np.float32) for s in ((20, 8), (keys, 8), (keys, 5), (20, 5)))

    def derivatives(q, k, v, g):
        def attend(q, k, v):
            return jax.nn.softmax((q @ k.T) * np.float32(0.25)) @ v

        out, pull = jax.vjp(attend, q, k, v)
        return out, *pull(g)

    theirs = sj.invariant(derivatives)(q, k, v, g)
    whole = [x[None, None] for x in (q, k, v, g)]
    ours = native.attention(*whole[:3], scale=0.25), *native.attention_backward(*whole, scale=0.25)
    for a, b in zip(ours, theirs, strict=True):
        assert bits.same(a[0, 0], np.asarray(b))
