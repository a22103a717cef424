"""The child process."""

from typing import Any

from bench.harness import worker  # before anything else: it sets the CPUs

from bench.elementwise.calls import COMPETITORS, OURS  # isort: skip
from bench.elementwise.cases import Case  # isort: skip
from bench.elementwise.operands import Operands  # isort: skip


class Worker(worker.Worker):
    competitors, ours = COMPETITORS, OURS

    def operands(self, case: dict[str, Any], copies: int) -> Operands:
        return Operands(Case(**case))


if __name__ == "__main__":
    worker.main(Worker())
