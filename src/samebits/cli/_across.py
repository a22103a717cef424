"""`samebits audit --across threads,isa,precision`: the same calls in child processes with other settings.

Libraries read these settings when they start, so each needs a process of its own. A child prints the digests of what
came out at each batch size (_certificate.digests); nothing here has a say in the verdict.
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from samebits.cli._load import UsageError

TIMEOUT = 600.0
KINDS = ("threads", "isa", "precision")

# Settings by name: what a child's environment has besides. Each library looks at its own variables.
_THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "SAMEBITS_THREADS")
_SETTINGS: dict[str, dict[str, dict[str, str]]] = {
    "threads": {
        "1 thread": {**dict.fromkeys(_THREADS, "1"), "SAMEBITS_CHILD_CORES": "1",
                     "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false"},
        "2 threads": dict.fromkeys(_THREADS, "2"),
    },
    "isa": {
        "AVX2": {"XLA_FLAGS": "--xla_cpu_max_isa=AVX2", "ATEN_CPU_CAPABILITY": "avx2",
                 "MKL_ENABLE_INSTRUCTIONS": "AVX2", "OPENBLAS_CORETYPE": "Haswell", "SAMEBITS_ISA": "avx2"},
        "SSE4.2": {"XLA_FLAGS": "--xla_cpu_max_isa=SSE4_2", "ATEN_CPU_CAPABILITY": "default",
                   "MKL_ENABLE_INSTRUCTIONS": "SSE4_2", "OPENBLAS_CORETYPE": "Nehalem", "SAMEBITS_ISA": "generic"},
    },
    "precision": {
        "highest": {"JAX_DEFAULT_MATMUL_PRECISION": "highest"},
        "default": {"JAX_DEFAULT_MATMUL_PRECISION": "default"},
    },
}  # fmt: skip


@dataclass(frozen=True)
class Across:
    """Digests by setting; the first is the machine as it is. A child that failed has its last line in `failed`."""

    digests: dict[str, dict[str, dict[str, str]]]
    failed: dict[str, str]

    def to_dict(self) -> dict[str, object]:
        return {"digests": self.digests, "failed": self.failed}

    def __rich__(self) -> RenderableType:
        return Group(*self._parts())

    def _parts(self) -> Iterator[RenderableType]:
        yield Text("the same calls elsewhere", style="bold")
        here = self.digests.get("as it is", {})
        table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0), header_style="dim")
        for name in ("", *(f"{n} rows" for n in here)):
            table.add_column(name)
        for name, found in self.digests.items():
            cells = [
                Text("the same bits", style="green") if found.get(n) == here[n] else Text("other bits", style="yellow")
                for n in here
            ]
            table.add_row(name, *cells)
        yield table
        for name, why in self.failed.items():
            yield Text.assemble((f"{name} did not run: ", "bold red"), why)


def checked(kinds: str) -> tuple[str, ...]:
    """The kinds in "threads,isa"; UsageError for others."""
    found = tuple(k.strip() for k in kinds.split(",") if k.strip())
    if not found or set(found) - set(KINDS):
        raise UsageError(f"--across {kinds}: choose from {','.join(KINDS)}\n  way out: --across threads,isa")
    return found


def run(kinds: Sequence[str], arguments: Sequence[str], say: Callable[[str], None]) -> Across:
    """Runs a child for each setting of these kinds. arguments: those of the child (main below)."""
    settings = {"as it is": {}, **{name: env for k in kinds for name, env in _SETTINGS[k].items()}}
    digests: dict[str, dict[str, dict[str, str]]] = {}
    failed: dict[str, str] = {}
    for name, extra in settings.items():
        say(name)
        env = {**os.environ, **extra}
        if "XLA_FLAGS" in extra and os.environ.get("XLA_FLAGS"):
            env["XLA_FLAGS"] = f"{os.environ['XLA_FLAGS']} {extra['XLA_FLAGS']}"
        try:
            done = subprocess.run([sys.executable, "-m", "samebits.cli._across", *arguments], env=env, timeout=TIMEOUT,
                                  capture_output=True, text=True)  # fmt: skip
        except subprocess.TimeoutExpired:
            failed[name] = f"it took more than {TIMEOUT:.0f} s"
            continue
        lines = [line for line in done.stdout.splitlines() if line.startswith("DIGESTS ")]
        if done.returncode or not lines:
            failed[name] = (done.stderr.strip().splitlines() or ["it said nothing"])[-1][:160]
        else:
            digests[name] = json.loads(lines[-1][len("DIGESTS ") :])
    return Across(digests, failed)


def main(target: str, batch: str, rows: str, per_example: str) -> None:
    """A child: the digests of target's outputs. batch and rows are "" where nothing was said."""
    cores = os.environ.get("SAMEBITS_CHILD_CORES")
    if cores and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: int(cores)])
    from samebits._audit._audit import _frontend
    from samebits.cli._certificate import digests_of
    from samebits.cli._load import load

    loaded = load(target, batch or None, int(rows) if rows else None, per_example == "1")
    frontend = _frontend(loaded.fn, loaded.batch)
    _, found = digests_of(loaded, frontend, "jit" if frontend.compiles else "eager")
    print("DIGESTS " + json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
