"""For tests: that a function does not depend on the batch. The pytest plugin is _plugin.py."""

from samebits.testing._assertions import assert_invariant as assert_invariant
