"""Runs the checks that are named, or all."""

import json
import sys
import traceback

from tests.jax.devices import CHECKS


def main(names):
    results = {}
    for name, run in CHECKS.items():
        if names and name not in names:
            continue
        try:
            run()
            results[name] = ""
        except Exception:
            results[name] = traceback.format_exc()
    json.dump(results, sys.stdout)


main(sys.argv[1:])
