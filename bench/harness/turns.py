"""Child processes that take turns: the driver's side of worker.py."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bench.harness.tables import SETTINGS, Series
from bench.harness.work import Work

ROOT = Path(__file__).parents[2]

TURN = 0.004
"""Seconds that a turn lasts unless one call lasts longer: long against the clock, short against the time for which a
neighbour on the machine stays busy, so that a disturbance hits all competitors alike."""

PAUSE = 0.003
"""Seconds between turns of more than one thread: the pool that has just worked stops spinning (see ENVIRONMENT)
instead of taking the second CPU from the next competitor."""

ENVIRONMENT = {"KMP_BLOCKTIME": "1", "GOMP_SPINCOUNT": "100000", "OPENBLAS_THREAD_TIMEOUT": "20"}
"""How long idle pools spin: about a millisecond, ample for calls back to back."""

KEPT_MEMORY = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": str(8 << 30), "MALLOC_TOP_PAD_": str(64 << 20)}
"""For peers that allocate each result anew: glibc is to keep the memory of the last one, or its pages would be cleared
by the kernel in each call, which is no part of the work."""


class Child:
    """A worker in one setting, with so many threads on as many CPUs."""

    def __init__(self, setting: str, threads: int, worker: str, given: Mapping[str, str]):
        cpus = sorted(os.sched_getaffinity(0))[-threads:]
        counts = dict.fromkeys(
            ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "SAMEBITS_THREADS"), str(threads)
        )
        environment = {
            **os.environ,
            **counts,
            **ENVIRONMENT,
            "MKL_DYNAMIC": "FALSE",
            "MKL_THREADING_LAYER": "SEQUENTIAL" if threads == 1 else "INTEL",
            "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false" if threads == 1 else "",
            "BENCH_CPUS": ",".join(map(str, cpus)),
            "PYTHONPATH": os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH")))),
            **given,
            **SETTINGS[setting],
        }
        command = [sys.executable, "-m", worker]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )

    def ask(self, **order: Any) -> Any:
        """The worker's answer. Raises RuntimeError with its error, or when it has died."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"a worker ended with status {self._process.wait()} at {order}")
        answer = json.loads(line)
        if "error" in answer:
            raise RuntimeError(f"{answer['error']} at {order}")
        return answer["ok"]

    def close(self) -> None:
        self._process.communicate()  # closes its input, at which it ends


class Children:
    """The workers of one thread count, each started when first needed; a context manager that ends them."""

    def __init__(self, threads: int, worker: str, environment: Mapping[str, str] | None = None):
        """worker: the module that a child runs; environment: variables of all children."""
        self.threads = threads
        self.peaks: dict[str, dict[str, float]] = {}
        self._started = (threads, worker, environment or {})
        self._children: dict[str, Child] = {}

    def __enter__(self) -> "Children":
        return self

    def __exit__(self, *_: object) -> None:
        for child in self._children.values():
            child.close()

    def __getitem__(self, setting: str) -> Child:
        if setting not in self._children:
            self._children[setting] = Child(setting, *self._started)
        return self._children[setting]

    def measure_peaks(self, setting: str) -> dict[str, float]:
        """The best rates seen so far on the setting's instruction set, after one more look: empty where none are known.

        A neighbour on the machine only ever lowers a rate, and a bound that was measured low would be exceeded.
        """
        isa = self[setting].ask(about=True)["isa"]
        best = self.peaks.setdefault(isa, {})
        for name, rate in self[setting].ask(machine=isa, threads=self.threads).items():
            best[name] = max(rate, best.get(name, 0.0))
        return best

    def measure(self, case: Work, copies: int, series: tuple[Series, ...], seconds: float) -> dict[str, dict[str, Any]]:
        """For each series that is installed: via, and its times in microseconds, one a round.

        seconds: about how long all rounds last. Raises RuntimeError where a result is wrong, or where samebits gives
        other bits in another setting or packed.
        """
        about: dict[Series, dict[str, Any]] = {}
        for setting in dict.fromkeys(s.setting for s in series):
            names = [s.competitor for s in series if s.setting == setting]
            answer = self[setting].ask(prepare=case.to_json(), copies=copies, competitors=names)
            about |= {Series(name, setting): found for name, found in answer.items()}
        present = [s for s in series if s in about]
        bits = {s.name: about[s]["bits"] for s in present if about[s]["bits"]}
        if len(set(bits.values())) > 1:
            raise RuntimeError(f"samebits' bits differ in {case.name}: {bits}")
        times = {s: max(1, round(TURN / max(about[s]["us"] * 1e-6, 1e-8))) for s in present}
        round_seconds = sum(times[s] * about[s]["us"] * 1e-6 * len(about[s]["via"]) for s in present)
        rounds = min(max(5, round(seconds / round_seconds)), 60)
        found: dict[Series, list[float]] = {s: [] for s in present}
        for turn in range(rounds):
            for s in present if turn % 2 else reversed(present):  # nobody always follows the same neighbour
                if self.threads > 1:
                    time.sleep(PAUSE)
                seconds_each = self[s.setting].ask(turn=s.competitor, times=times[s])
                found[s].append(seconds_each * 1e6)
                if times[s] * seconds_each > 3 * TURN:  # a pool without CPUs of its own waits for milliseconds
                    times[s] = max(1, round(TURN / seconds_each))
        return {s.name: {"via": about[s]["via"], "us": found[s]} for s in present}
