"""Scores the audit on a folder of cases: ``python -m dev.score [FOLDER] [--only NAME...] [--framework jax|torch]``.

Each case runs in a process of its own, from its fn or single and make_input alone; what index.json expects is read only
afterwards. A leak or a case that is not deterministic must be called one of the two, a benign one neither, and a line
is right within one of the marked one. Exit status 0: all caught, no false alarm, 90 % of the lines.
"""

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

CASES = Path(__file__).parents[1] / "tests" / "audit" / "cases"
BAD = ("leak", "nondeterministic")
BENIGN = ("holds", "rounding", "amplified")

CHILD = """
import json, pathlib, sys
import samebits
from dev.case_index import load
case = load(pathlib.Path(sys.argv[1]))
single = not hasattr(case, "fn")
report = samebits.audit(case.single if single else case.fn, case.make_input(int(sys.argv[2])), per_example=single)
first = report.first
print(json.dumps([report.verdict, first and first.file, first and first.line]))
"""


def agrees(expected: str, verdict: str) -> bool:
    """Whether a verdict is one that a case of this kind may have."""
    if expected == "invariant":
        return verdict == "holds"
    if expected == "nondeterministic":
        return verdict in BAD
    return verdict == "leak" if expected == "leak" else verdict in BENIGN


def located(case: dict[str, Any], file: str | None, line: int | None) -> bool:
    return line is not None and str(file).endswith(case["file"]) and abs(line - case["culprit_line"]) <= 1


def audited(path: Path, rows: int) -> tuple[str, str | None, int | None, str]:
    """(verdict, file, line, why there is none) of a case."""
    command = [sys.executable, "-W", "ignore", "-c", CHILD, str(path), str(rows)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    except subprocess.TimeoutExpired:
        return "timeout", None, None, ""
    if done.returncode:
        return "crash", None, None, (done.stderr.strip().splitlines() or ["no message"])[-1]
    return *json.loads(done.stdout.splitlines()[-1]), ""


def main() -> int:
    parser = argparse.ArgumentParser(description="Scores the audit on a folder of cases.")
    parser.add_argument("folder", type=Path, nargs="?", default=CASES)
    parser.add_argument("--only", nargs="*", metavar="NAME")
    parser.add_argument("--framework", choices=["jax", "torch"])
    a = parser.parse_args()
    caught, passed, lines = [], [], []
    for case in json.loads((a.folder / "index.json").read_text()):
        if (a.only and case["name"] not in a.only) or (a.framework and case["framework"] != a.framework):
            continue
        start = time.monotonic()
        verdict, file, line, why = audited(a.folder / case["file"], case["n"])
        good = agrees(case["expected"], verdict)
        (caught if case["expected"] in BAD else passed).append(good)
        if verdict in (*BAD, *BENIGN[1:]) and case["culprit_line"]:
            lines.append(located(case, file, line))
        place = f"line {line} (marked {case['culprit_line']})"
        said = f"{case['expected']} -> {verdict}"
        print(f"{'ok ' if good else 'BAD'} {case['name']:34s} {said:36s} {place:25s}"
              f"{time.monotonic() - start:5.1f} s {why}", flush=True)  # fmt: skip
    print(f"caught {sum(caught)}/{len(caught)}, benign passed {sum(passed)}/{len(passed)}, "
          f"lines {sum(lines)}/{len(lines)}")  # fmt: skip
    return int(not (all(caught) and all(passed) and sum(lines) >= 0.9 * len(lines)))


if __name__ == "__main__":
    raise SystemExit(main())
