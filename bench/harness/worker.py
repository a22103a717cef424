"""A child process: its settings come with its environment, its orders as lines of JSON on standard input.

{"prepare": case, "copies": int, "competitors": [names]}
    -> {name: {"via": [...], "us": of a call, roughly, "bits": hex or null}}
{"turn": name, "times": int} -> seconds of a call
{"about": true} -> versions, and what was loaded
{"machine": isa, "threads": int} -> the roofline's peaks
"""

import hashlib
import json
import os
import sys
import tomllib
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from time import perf_counter
from typing import Any, ClassVar

if cpus := os.environ.get("BENCH_CPUS"):  # before any library counts them
    os.sched_setaffinity(0, {int(cpu) for cpu in cpus.split(",")})

from bench.harness.calls import Call
from bench.harness.turns import ROOT


class Worker:
    """Holds the calls of one case at a time; a subclass for each bench says which.

    competitors: by name, what makes the ways to do the work on given operands; ours: whose bits must agree in every
    setting; epsilon: of those that round their operands.
    """

    competitors: ClassVar[Mapping[str, Callable[[Any], Sequence[Call]]]] = {}
    ours: ClassVar[Sequence[str]] = ()
    epsilon: ClassVar[Mapping[str, float]] = {}

    def __init__(self):
        self.calls: dict[str, list[Call]] = {}

    def operands(self, case: dict[str, Any], copies: int) -> Any:
        """The data of a case, with clear() and check()."""
        raise NotImplementedError

    def prepare(self, case: dict[str, Any], copies: int, names: list[str]) -> dict[str, Any]:
        """Sets every competitor up, checks its result, and estimates the time of a call.

        Raises ValueError where a result is wrong.
        """
        self.calls = {}  # frees what the last case held
        operands, about = self.operands(case, copies), {}
        for name in names:
            calls = list(self.competitors[name](operands))
            if not calls:
                continue
            bits = None
            for call in calls:
                operands.clear()
                call.seconds(1)
                result = call.result()
                operands.check(result, self.epsilon.get(name))
                bits = hashlib.sha256(result.tobytes()).hexdigest()[:16]
            self.calls[name] = calls
            estimate = max(_gross(call) for call in calls)
            via = [call.via for call in calls]
            about[name] = {"via": via, "us": estimate * 1e6, "bits": bits if name in self.ours else None}
        return about

    def turn(self, name: str, times: int) -> float:
        """Seconds of a call, by the fastest way; the first of several, which finds cold caches, is not counted."""
        best = float("inf")
        for call in self.calls[name]:
            if times > 1:
                call.seconds(1)
            best = min(best, call.seconds(times) / times)
        return max(best, 1e-9)  # where an empty call was subtracted that a busy machine had made long

    def about(self) -> dict[str, Any]:
        from samebits.native import isa, threads

        packages = {package: _version(package) for package in ("numpy", "jax", "jaxlib", "torch")}
        packages["samebits"] = _version("samebits") or _source_version()
        return {"isa": isa(), "threads": threads(), **packages}

    def answer(self, order: dict[str, Any]) -> Any:
        match order:
            case {"prepare": case, "copies": copies, "competitors": names}:
                return self.prepare(case, copies, names)
            case {"turn": name, "times": times}:
                return self.turn(name, times)
            case {"about": True}:
                return self.about()
            case {"machine": isa, "threads": threads}:
                from bench.harness import roofline

                return roofline.measure(isa, threads)
        raise ValueError(f"not an order: {order}")


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _source_version() -> str:
    """The version of the source tree, for a package that is used from there without being installed."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]


def _gross(call: Call) -> float:
    """Seconds that a call takes of the clock, whatever is subtracted from them later."""
    times, seconds = 1, 0.0
    while seconds < 2e-4:
        start = perf_counter()
        call.seconds(times)
        seconds, times = perf_counter() - start, times * 4
    return seconds / (times // 4)


def main(worker: Worker) -> None:
    """Answers until standard input ends; an exception is the answer to the order that raised it."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what libraries print must not mix with the answers
    for line in sys.stdin:
        try:
            answer = {"ok": worker.answer(json.loads(line))}
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), file=answers, flush=True)
