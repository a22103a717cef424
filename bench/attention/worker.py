"""The child process."""

from typing import Any

from bench.harness import worker  # before anything else: it sets the CPUs

from bench.attention.calls import COMPETITORS, OURS  # isort: skip
from bench.attention.operands import Operands  # isort: skip
from bench.attention.shapes import Shape  # isort: skip


class Worker(worker.Worker):
    competitors, ours = COMPETITORS, OURS

    def operands(self, case: dict[str, Any], copies: int) -> Operands:
        return Operands(Shape(**case))


if __name__ == "__main__":
    worker.main(Worker())
