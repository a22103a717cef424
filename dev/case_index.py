"""Measures the cases of a folder without samebits and writes its index: ``python -m dev.case_index FOLDER [NAME...]``.

A case has META, make_input(n) and fn(batch), or single(row) to be mapped, and often fixed(batch), the repaired program.
What META expects is checked against what is seen: slices, other orders, other content at the same shape, the same call
twice, single rows, eager calls, and float64 where the program takes it. Names given: only these are measured anew.
"""

import argparse
import importlib.util
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

LEAK = 1e-4  # of a row's largest entry; benign programs with META's amplified may exceed it


def load(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def mapped(f: Callable[..., Any], *trees: Any) -> Any:
    """f of the leaves of dicts and tuples."""
    if isinstance(trees[0], dict):
        return {k: mapped(f, *(t[k] for t in trees)) for k in trees[0]}
    if isinstance(trees[0], tuple):
        return tuple(mapped(f, *t) for t in zip(*trees, strict=True))
    return f(*trees)


def leaves(tree: Any) -> list[Any]:
    if isinstance(tree, dict):
        return [leaf for k in sorted(tree) for leaf in leaves(tree[k])]
    return [leaf for t in tree for leaf in leaves(t)] if isinstance(tree, tuple) else [tree]


class Runner:
    """A case's functions on NumPy terms: outputs are lists of (bytes per row, float64 values per row)."""

    def __init__(self, case: Any) -> None:
        self.case, self.torch = case, case.META["framework"] == "torch"
        self.single = case.META["form"] == "single"

    def function(self, name: str = "fn", eager: bool = False) -> Callable[[Any], Any]:
        if self.torch:
            return getattr(self.case, name)
        import jax

        f = jax.vmap(self.case.single) if self.single and name == "fn" else getattr(self.case, name)
        # A new function each time, so that nothing is cached between two experiments on closures.
        return f if eager else jax.jit(lambda x: f(x))

    def rows(self, out: Any) -> list[tuple[list[bytes], np.ndarray]]:
        def one(a: Any) -> tuple[list[bytes], np.ndarray]:
            if self.torch:
                import torch

                wide = a.detach().double().numpy()
                bits = a.detach().contiguous().view(torch.uint8) if a.dtype != torch.bool else a.detach()
                return [r.tobytes() for r in bits.numpy().reshape(len(a), -1)], wide.reshape(len(a), -1)
            a = np.asarray(a)
            return [r.tobytes() for r in a], a.astype(np.float64).reshape(len(a), -1)

        return [one(a) for a in leaves(out)]

    def take(self, batch: Any, where: Any) -> Any:
        return mapped(lambda a: a[where].clone() if self.torch else a[where], batch)


def worst(a: list[Any], b: list[Any], ia: Any, ib: Any) -> float | None:
    """The largest difference of rows ia of a and ib of b, of the row's largest entry; None where bits agree."""
    found = None
    for (abits, aval), (bbits, bval) in zip(a, b, strict=True):
        if aval.shape[1:] != bval.shape[1:]:
            return float("inf")
        for i, j in zip(ia, ib, strict=True):
            if abits[i] != bbits[j]:
                u, v = aval[i], bval[j]
                with np.errstate(invalid="ignore"):
                    gap = np.where((u == v) | (np.isnan(u) & np.isnan(v)), 0.0, np.abs(u - v))
                scale = np.nanmax(np.abs(np.where(np.isfinite([u, v]), [u, v], 0.0))) or 1.0
                found = max(found or 0.0, float(np.nan_to_num(gap, nan=np.inf).max() / scale))
    return found


def measure(path: Path, name: str = "fn") -> dict[str, float | None]:
    """What differs, by experiment."""
    case = load(path)
    runner, n = Runner(case), case.META["n"]
    both = case.make_input(2 * n)
    x = runner.take(both, slice(0, n))
    f = runner.function(name)

    def run(batch: Any) -> list[Any]:
        return runner.rows(f(mapped(lambda a: a.clone(), batch) if runner.torch else batch))

    def most(*values: float | None) -> float | None:
        seen = [v for v in values if v is not None]
        return max(seen) if seen else None

    whole = run(x)
    seen: dict[str, float | None] = {"repeat": worst(whole, run(x), range(n), range(n))}
    if not runner.torch and name == "fn":
        eager = runner.function(name, eager=True)
        first, again = runner.rows(eager(x)), runner.rows(eager(x))
        seen["repeat"] = most(seen["repeat"], worst(first, again, range(n), range(n)))
        seen["eager"] = worst(whole, first, range(n), range(n))
    sizes = [k for k in (1, 2, 3, 7, 16, 33, 64) if k < n]
    seen["size"] = most(*(worst(run(runner.take(x, slice(0, k))), whole, range(k), range(k)) for k in sizes))
    order = np.random.default_rng(3).permutation(n)
    seen["order"] = worst(run(runner.take(x, order)), whole, range(n), order)
    content = []
    for m in (n, 5):
        base = run(runner.take(x, slice(0, m)))
        for kept in ([0], [m // 2], [m - 1], [0, m - 1], list(range(0, m, 2))):
            index = [i if i in kept else n + i for i in range(m)]
            content.append(worst(run(runner.take(both, np.array(index))), base, kept, kept))
            index = [i if i in kept else kept[0] for i in range(m)]
            content.append(worst(run(runner.take(both, np.array(index))), base, kept, kept))
    seen["content"] = most(*content)
    if runner.single and name == "fn":
        import jax

        one = jax.jit(case.single)
        each = (runner.rows(mapped(lambda a: a[None], one(runner.take(x, i)))) for i in range(4))
        seen["alone"] = most(*(worst(e, whole, [0], [i]) for i, e in enumerate(each)))
    return seen


def in_double(path: Path) -> dict[str, float | str | None]:
    """Sizes and orders once more in float64, in a process of its own; the reason where that does not run."""
    code = (
        "import json, sys, pathlib, numpy as np\n"
        "import jax; jax.config.update('jax_enable_x64', True)\n"
        "from dev import case_index as c\n"
        "p = pathlib.Path(sys.argv[1]); case = c.load(p); r = c.Runner(case); n = case.META['n']\n"
        "up = lambda a: a.astype('float64') if str(a.dtype) in ('float32', 'bfloat16') else a\n"
        "x = c.mapped(up, case.make_input(n)); f = r.function(); y = r.rows(f(x)); o = np.random.default_rng(3)"
        ".permutation(n)\n"
        "d = [c.worst(r.rows(f(r.take(x, slice(0, k)))), y, range(k), range(k)) for k in (1, 3, 7)]\n"
        "d.append(c.worst(r.rows(f(r.take(x, o))), y, range(n), o))\n"
        "print(json.dumps(max([v for v in d if v is not None], default=None)))\n"
    )
    done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=False)
    if done.returncode:
        return {"double": (done.stderr.strip().splitlines() or ["failed"])[-1][:100]}
    return {"double": json.loads(done.stdout)}


def verdict(seen: dict[str, Any], amplified: bool) -> str:
    """What the experiments alone say."""
    drift = [seen.get(k) for k in ("size", "order", "eager", "alone")]
    if seen["repeat"] is not None:
        return "nondeterministic"
    if seen["content"] is not None:
        return "leak"
    if not amplified and any(v is not None and v > LEAK for v in drift):
        return "leak"
    return "rounding" if any(v is not None for v in drift) else "invariant"


def entry(path: Path) -> dict[str, Any]:
    """A case's line of the index, with what was measured."""
    meta = load(path).META
    text = path.read_text().splitlines()
    marked = [i for i, line in enumerate(text, 1) if "# CULPRIT" in line]
    seen: dict[str, Any] = {**measure(path)}
    if meta["framework"] == "jax":
        seen |= in_double(path)
    fixed = "\ndef fixed(" in path.read_text()
    repaired = measure(path, "fixed") if fixed else None
    benign = ["rounding", "invariant"] if meta["expected"] == "rounding" else [meta["expected"]]
    return dict(
        name=path.stem, file=path.name, framework=meta["framework"], form=meta["form"], expected=meta["expected"],
        acceptable=benign, topic=meta["topic"], source=meta["source"], source_title=meta["title"],
        source_url=meta["url"], relation=meta["relation"], axes=meta["axes"], leak_kind=meta.get("leak_kind"),
        culprit_op=meta["culprit_op"], culprit_kind=meta["culprit_kind"], culprit_line=marked[0] if marked else None,
        culprit_text=text[marked[0] - 1].split("#")[0].strip() if marked else None, has_fixed=fixed, n=meta["n"],
        amplified=meta.get("amplified", False), measured=seen, measured_fixed=repaired,
        measured_verdict=verdict(seen, meta.get("amplified", False)),
    )  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_args()
    index = arguments.folder / "index.json"
    known = {c["name"]: c for c in json.loads(index.read_text())} if index.exists() else {}
    paths = sorted(p for p in arguments.folder.glob("*.py") if p.stem.startswith(("jax_", "torch_")))
    wrong = 0
    for path in paths:
        if path.stem in known and arguments.names and path.stem not in arguments.names:
            continue
        c = known[path.stem] = entry(path)
        agrees = c["measured_verdict"] in c["acceptable"]
        wrong += not agrees
        numbers = " ".join(f"{k}={v:.1e}" for k, v in c["measured"].items() if isinstance(v, float))
        odd = {k: v for k, v in (c["measured_fixed"] or {}).items() if v is not None}
        said = f"{c['expected']} -> {c['measured_verdict']}"
        print("ok " if agrees else "BAD", f"{path.stem:36s} {said:34s} {numbers}  fixed: {odd or '-'}", flush=True)
    index.write_text(json.dumps([known[p.stem] for p in paths], indent=1) + "\n")
    return bool(wrong)


if __name__ == "__main__":
    raise SystemExit(main())
