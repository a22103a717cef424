"""Assertions for tests: that a function does not depend on the batch."""

from samebits.testing._assertions import assert_invariant as assert_invariant
