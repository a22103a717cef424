"""A folder of small batched programs with known truths, under samebits.jax.invariant: ``python -m dev.cases FOLDER``.

Each file has META, make_input(n) and single(x), to be mapped, or fn(x); index.json says what is true of it. A case that
drifts by rounding alone, or does not drift, must have the same bits in every row at all of its batch sizes, in another
order, and beside other rows; a leak (a row that depends on its neighbours by what the program says) must still be seen.
"""

import argparse
import importlib.util
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import samebits.jax as sj


def load(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def rows(tree: Any, where: Any) -> list[bytes]:
    """The bytes of some rows of each leaf; a leaf without rows counts as it is."""
    leaves = []
    for leaf in jax.tree_util.tree_leaves(tree):
        if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key):
            leaf = jax.random.key_data(leaf)
        leaves.append(np.asarray(leaf)[where].tobytes() if leaf.ndim else np.asarray(leaf).tobytes())
    return leaves


def take(tree: Any, where: Any) -> Any:
    return jax.tree_util.tree_map(lambda a: a[where], tree)


def differences(f: Callable[[Any], Any], single: Any, x: Any, other: Any, sizes: list[int]) -> Iterator[str]:
    """Where a row's bits depend on the rest of the batch x; `other` are as many other rows."""
    n = len(jax.tree_util.tree_leaves(x)[0])
    whole = f(x)
    for k in sizes:
        if k <= n and rows(f(take(x, slice(0, k))), slice(None)) != rows(whole, slice(0, k)):
            yield f"size {k}"
    order = np.random.default_rng(7).permutation(n)
    if rows(f(take(x, order)), slice(None)) != rows(whole, order):
        yield "order"
    kept = np.zeros(n, bool)
    kept[[0, 1, n // 2]] = True
    changed = jax.tree_util.tree_map(
        lambda a, b: a if jnp.issubdtype(a.dtype, jax.dtypes.prng_key)
        else jnp.where(kept.reshape(-1, *[1] * (a.ndim - 1)), a, b), x, other,
    )  # fmt: skip
    if rows(f(changed), kept) != rows(whole, kept):
        yield "neighbours"
    if single is not None:
        for i in (0, 1, n - 1):
            if rows(jax.tree_util.tree_map(lambda a: a[None], single(take(x, i))), 0) != rows(whole, i):
                yield f"row {i} alone"


def judge(path: Path, truth: dict[str, Any]) -> tuple[bool, str]:
    """(whether invariant() does to a case what its truth asks for, what was seen)."""
    case = load(path)
    single = jax.jit(sj.invariant(case.single)) if truth["form"] == "single" else None
    f = jax.jit(jax.vmap(sj.invariant(case.single)) if single is not None else sj.invariant(case.fn))
    n = truth["n"]
    both = case.make_input(2 * n)
    x, other = take(both, slice(0, n)), take(both, slice(n, 2 * n))
    seen = list(differences(f, single, x, other, truth["sizes"]))
    if truth["expected"] != "leak":
        return not seen, "the same bits" if not seen else "differs by " + ", ".join(seen)
    fixed = list(differences(jax.jit(sj.invariant(case.fixed)), None, x, other, truth["sizes"]))
    return bool(seen) and not fixed, (
        f"leaks by {', '.join(seen) or 'nothing'}; fixed: {', '.join(fixed) or 'the same bits'}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    right = total = 0
    for truth in json.loads((folder / "index.json").read_text()):
        if truth["framework"] != "jax":
            continue
        ok, seen = judge(folder / truth["file"], truth)
        right, total = right + ok, total + 1
        print(f"{'ok' if ok else 'WRONG':6s}{truth['name']:32s}{truth['expected']:10s} {seen}", flush=True)
        jax.clear_caches()
    print(f"{right} of {total} cases as they should be")
    sys.exit(right != total)


if __name__ == "__main__":
    main()
