"""The child process."""

from typing import Any

from bench.harness import worker  # before anything else: it sets the CPUs

from bench.reductions import ours, peers  # isort: skip
from bench.reductions.case import Reduction  # isort: skip
from bench.reductions.operands import Operands  # isort: skip


class Worker(worker.Worker):
    competitors = {  # noqa: RUF012
        "samebits": ours.samebits, "torch": peers.torch, "XLA": peers.xla, "numpy": peers.numpy,
    }  # fmt: skip
    ours = ("samebits",)

    def operands(self, case: dict[str, Any], copies: int) -> Operands:
        return Operands(Reduction(**case))


if __name__ == "__main__":
    worker.main(Worker())
