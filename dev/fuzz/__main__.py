"""Random calls of the library against its reference until time is up: ``python -m dev.fuzz --minutes 10``.

Shapes, strides (negative, zero, with gaps; inputs that overlap or are one array), alignment, dtypes, special values,
threads (the library's and a host's) and a host that flushes subnormals. Each instruction set of this CPU gets its share
of the time in a process of its own. Every case is drawn from a seed of its own, so a failure prints the command that
repeats it, and ``--seed`` with the number printed last goes on from there.

A new kind is one function that draws a `Trial`, and a line in the KINDS of its file.
"""

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Sequence

import numpy as np

from dev.fuzz import attention, calls, products, reductions, rows
from dev.fuzz.draw import aligned
from dev.fuzz.host import Executor, Mode, submit
from samebits.native._library import library

KINDS = products.KINDS | calls.KINDS | rows.KINDS | reductions.KINDS | attention.KINDS


def run(kind: str, seed: int, mode: Mode | None) -> str | None:
    """What is wrong with a case, or None."""
    rng = np.random.default_rng([list(KINDS).index(kind), seed])
    trial = KINDS[kind][0](rng)
    threads, flush = int(rng.choice([0, 0, 1, 2, 3, 7])), mode is not None and rng.random() < 0.3
    executor = Executor(None, threads, submit) if threads else None
    ours, theirs = aligned(rng, trial.out), trial.out.copy()
    if mode and flush:
        mode.change(True)
    kept, raised = True, ""
    try:
        status = trial.ours(ours, executor)
    except Exception as error:
        status, raised = -1, f"{type(error).__name__}: {error}"
    if mode and flush:
        kept = mode.change(False)
    text = f"{trial.text}, {f'a host of {threads} threads' if threads else 'own threads'}{', flushing' * flush}"
    if status != 0:
        return f"{text}: {raised or library().sb_error().decode()}"
    if not kept:
        return f"{text}: the thread's floating point mode was changed"
    trial.theirs(theirs)
    wrong = np.flatnonzero(ours != theirs)
    if wrong.size == 0:
        return None
    first = ", ".join(f"[{i}] {ours[i]:#x} != {theirs[i]:#x}" for i in wrong[:3])
    return f"{text}: {wrong.size} of {ours.size} words differ: {first}"


def fuzz(seed: int, seconds: float, kinds: Sequence[str] = tuple(KINDS)) -> tuple[int, int]:
    """(cases, the next seed): cases from `seed` on until time is up. Exits where one fails."""
    lib = library()
    products.bind()
    mode = Mode() if sys.platform == "linux" and os.uname().machine == "x86_64" else None
    names = [name for name in kinds for _ in range(KINDS[name][1])]
    end, case = time.monotonic() + seconds, seed
    while time.monotonic() < end or case == seed:
        kind = names[case % len(names)]
        if wrong := run(kind, case, mode):
            isa, threads = lib.sb_isa().decode(), lib.sb_threads()
            part = f"--kinds {','.join(kinds)} " if tuple(kinds) != tuple(KINDS) else ""
            print(f"FAILED: SAMEBITS_ISA={isa} SAMEBITS_THREADS={threads} python -m dev.fuzz {part}--case {case}")
            sys.exit(f"{kind}: {wrong}")
        case += 1
    return case - seed, case


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=1, help="for all instruction sets together")
    parser.add_argument("--seed", type=int, default=0, help="of the first case; goes on where a run has printed it")
    parser.add_argument("--case", type=int, help="this case alone, as a failure prints it")
    parser.add_argument("--here", action="store_true", help="in this process, with its instruction set and threads")
    parser.add_argument("--kinds", default=",".join(KINDS), help="of cases, some of %(default)s")
    options = parser.parse_args()
    kinds = options.kinds.split(",")
    if unknown := set(kinds) - set(KINDS):
        parser.error(f"there is no kind {', '.join(sorted(unknown))}; there are {', '.join(KINDS)}")
    if options.case is not None:
        fuzz(options.case, 0, kinds)
        print(f"case {options.case} is right")
    elif options.here:
        count, following = fuzz(options.seed, 60 * options.minutes, kinds)
        lib = library()
        print(f"{lib.sb_isa().decode()}, {lib.sb_threads()} threads: {count} cases, next {following}", flush=True)
    else:
        isas = library().sb_isas().decode().split(",")
        following = options.seed
        for i, isa in enumerate(isas):
            environment = os.environ | {"SAMEBITS_ISA": isa, "SAMEBITS_THREADS": str((3, 2, 7, 1)[i % 4])}
            share = [
                "--here",
                f"--minutes={options.minutes / len(isas)}",
                f"--seed={following}",
                f"--kinds={options.kinds}",
            ]
            done = subprocess.run(
                [sys.executable, "-m", "dev.fuzz", *share], env=environment, stdout=subprocess.PIPE, text=True
            )
            print(done.stdout, end="", flush=True)
            if done.returncode:
                sys.exit(f"{isa} from seed {following}: status {done.returncode}")
            following = int(done.stdout.split()[-1])
        print(f"no mismatch; go on with --seed {following}")


if __name__ == "__main__":
    main()
