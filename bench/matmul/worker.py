"""The child process."""

from typing import Any

from bench.harness import worker  # before anything else: it sets the CPUs

from bench.matmul import blas  # isort: skip
from bench.matmul.case import Case  # isort: skip
from bench.matmul.competitors import COMPETITORS, EPSILON, OURS  # isort: skip
from bench.matmul.operands import Operands  # isort: skip


class Worker(worker.Worker):
    competitors, ours, epsilon = COMPETITORS, OURS, EPSILON

    def operands(self, case: dict[str, Any], copies: int) -> Operands:
        return Operands(Case(**case), copies)

    def about(self) -> dict[str, Any]:
        return {**super().about(), **blas.described()}


if __name__ == "__main__":
    worker.main(Worker())
