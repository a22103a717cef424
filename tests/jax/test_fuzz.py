"""Random JAX programs (dev/fuzz_jax.py): a few, and each that once failed."""

import jax
import pytest

from dev.fuzz_jax import check

FAILED: dict[int, str] = {}
"""Seed: what was wrong with its program."""


@pytest.mark.parametrize("seed", [1, 2, *FAILED])
def test_a_random_program(seed):
    with jax.enable_x64(True):
        assert check(seed) is None


def test_stock_fails():
    """Negative control: of the first 40 programs, 7 have other bits in a batch on the machine tried."""
    with jax.enable_x64(True):
        assert any("differs" in (check(seed, jax.jit) or "") for seed in (17, 26, 27))
