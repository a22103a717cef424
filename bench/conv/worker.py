"""The child process."""

import re
from importlib import import_module
from typing import Any

from bench.harness import worker  # before anything else: it sets the CPUs

from bench.conv.calls import COMPETITORS, OURS  # isort: skip
from bench.conv.layers import Layer  # isort: skip
from bench.conv.operands import Operands  # isort: skip


class Worker(worker.Worker):
    competitors, ours = COMPETITORS, OURS

    def operands(self, case: dict[str, Any], copies: int) -> Operands:
        return Operands(Layer(**case))

    def about(self) -> dict[str, Any]:
        about = super().about()
        if about["torch"]:
            found = re.search(r"MKL-DNN v([\d.]+)", import_module("torch").__config__.show())
            about["onednn"] = found and found[1]
        return about


if __name__ == "__main__":
    worker.main(Worker())
