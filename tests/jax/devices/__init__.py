"""Checks on eight host devices: run by test_sharding.py in a process of its own, which writes {check: result} as JSON.

Each check asserts; its result is "" or the error's text; names as arguments choose. XLA makes host devices only before
JAX starts, hence the process.
"""

from tests.jax.devices import accumulation, collectives, hostile, products, shardings
from tests.jax.devices._common import CHECKS

__all__ = ["CHECKS", "accumulation", "collectives", "hostile", "products", "shardings"]
