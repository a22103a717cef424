"""Several devices: the same bits on one, two, four and eight (spec: NAM, ACC, SPLIT)."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.jax.devices import CHECKS

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def results():
    """What each check says in a process with eight devices."""
    environment = os.environ | {"XLA_FLAGS": "--xla_force_host_platform_device_count=8", "JAX_PLATFORMS": "cpu"}
    done = subprocess.run(
        [sys.executable, "-m", "tests.jax.devices"], cwd=ROOT, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("name", CHECKS)
def test_eight_devices(name, results):
    assert results[name] == "", results[name]
