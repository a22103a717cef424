"""Random JAX programs under samebits.jax.invariant: ``python -m dev.fuzz_jax --programs 2000``.

For each: the single call, eager and jitted, rows of vmap at several sizes, and the same of a derivative, have the same
bits; values are near those in float64; XLA is left no float arithmetic. A failure prints the seed that repeats it
(``--seed N --programs 1``), and belongs into tests/jax/test_fuzz.py.
"""

import argparse
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import jax
import jax.extend
import jax.numpy as jnp
import numpy as np

import samebits
import samebits.jax as sj
from dev.fuzz.jaxprs import EPSILON, inputs, program
from samebits.jax._hlo import float_arithmetic


def bits(tree: Any) -> list[tuple[str, tuple[int, ...], bytes]]:
    return [(str(a.dtype), a.shape, a.tobytes()) for a in map(np.asarray, jax.tree_util.tree_leaves(tree))]


def host(tree: Any) -> Any:
    return jax.tree_util.tree_map(np.asarray, tree)


def row(tree: Any, i: Any) -> Any:
    return jax.tree_util.tree_map(lambda a: a[i], tree)


def head(tree: Any, n: int) -> Any:
    return jax.tree_util.tree_map(lambda a: a[:n], tree)


Wrap = Callable[[Callable[..., Any]], Callable[..., Any]]


def check(seed: int, wrap: Wrap = sj.invariant) -> str | None:
    """What is wrong with the program of a seed, or None. jax_enable_x64 must be set."""
    rng = np.random.default_rng([seed, 3])
    facts: set[str] = set()
    rows = inputs(seed, int(rng.choice([2, 3, 5, 7, 16])))
    values: list[Any] = []
    try:
        f = jax.extend.core.jaxpr_as_fun(jax.make_jaxpr(program(seed, facts))(*row(rows, 0)))
        wrong = same(f, wrap, rows, rng, "value", values)
        if wrong is None and rng.random() < 0.5:
            mode = "jvp" if "while" in facts else str(rng.choice(["grad", "grad", "jvp", "vjp of jvp"]))
            wrong = same(derivative(f, mode), wrap, rows, rng, mode)
    except samebits.UncoveredOperation as refusal:
        return f"refused: {str(refusal).splitlines()[0]}"
    except Exception as error:
        return f"{type(error).__name__}: {str(error).strip().splitlines()[0] if str(error).strip() else ''}"
    return wrong or far(seed, rows, facts, values)


def derivative(f: Callable[..., Any], mode: str) -> Callable[..., Any]:
    """A derivative of a program by its first argument."""

    def total(x: Any, y: Any, count: Any) -> Any:
        return sum(jnp.sum(jnp.sin(v).astype(jnp.float64)) for v in f(x, y, count))

    def forward(x: Any, y: Any, count: Any) -> Any:
        return jax.jvp(lambda x: f(x, y, count), (x,), (jnp.ones_like(x),))[1]

    if mode == "grad":
        return jax.grad(total)
    if mode == "jvp":
        return forward
    return lambda x, y, count: jax.grad(lambda x: sum(jnp.sum(v.astype(jnp.float64)) for v in forward(x, y, count)))(x)


def same(
    f: Callable[..., Any], wrap: Wrap, rows: Any, rng: np.random.Generator, what: str, values: list[Any] | None = None
) -> str | None:
    """How the bits of a row depend on the way that it is called; `values` receives those of the first."""
    one, n = wrap(f), len(rows[2])
    compiled = jax.jit(jax.vmap(one)).lower(*rows).compile()
    many, looked = host(compiled(*rows)), (0, n - 1)
    alone = [bits(one(*row(rows, i))) for i in looked]
    for i, wanted in zip(looked, alone, strict=True):
        if bits(row(many, i)) != wanted:
            return f"{what}: row {i} of vmap over {n} differs from the single call"
    if values is not None:
        values.extend(row(many, 0))
    way = int(rng.integers(5 if what == "value" else 15))
    if way == 0:
        again = jax.jit(one)(*row(rows, 0))
    elif way == 1:
        again = row(host(wrap(jax.vmap(f))(*rows)), 0)
    elif way == 2:
        again = row(host(jax.vmap(jax.jit(one))(*head(rows, 1))), 0)
    elif way == 3:
        again = row(host(jax.jit(lambda rows: jax.lax.map(lambda r: one(*r), rows))(rows)), 0)
    elif way == 4:
        grid = jax.tree_util.tree_map(lambda a: np.stack([a, a[::-1]]), rows)
        again = row(host(jax.jit(jax.vmap(jax.vmap(one)))(*grid)), (0, 0))
    else:
        again = row(many, 0)
    if bits(again) != alone[0]:
        return f"{what}: way {way} differs from the single call"
    left = float_arithmetic(compiled.as_text() or "")
    return f"{what}: left to XLA: {', '.join(left)}" if left else None


def far(seed: int, rows: Any, facts: set[str], ours: list[Any]) -> str | None:
    """Where a value is further from the one in float64 than roundings and stock JAX's distance explain."""
    x, y, count = row(rows, 0)
    wide = jax.jit(program(seed, set(), wide=True))
    exact = wide(x.astype(np.float64), y.astype(np.float64), count)
    least = max(EPSILON[d] for d in facts & EPSILON.keys())
    if _distance(ours, exact) <= 40 * least:
        return None
    stock = jax.jit(program(seed, set()))(x, y, count)
    if _distance(ours, exact) <= 4 * _distance(stock, exact) + 40 * least:
        return None
    return f"value: {_distance(ours, exact):.3g} from float64's, stock {_distance(stock, exact):.3g}"


def _distance(values: list[Any], exact: list[Any]) -> float:
    """The largest difference of two lists of arrays, relative to each array's size; inf where one is not finite."""
    most = 0.0
    for v, e in zip(values, exact, strict=True):
        v, e = np.asarray(v).astype(np.float64), np.asarray(e)
        if v.size and np.isfinite(e).all():
            apart = np.abs(v - e).max()
            most = max(most, float(apart / max(1.0, np.abs(e).max())) if np.isfinite(apart) else np.inf)
    return most


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--programs", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0, help="of the first program")
    parser.add_argument("--stride", type=int, default=1, help="from one seed to the next, for several processes")
    options = parser.parse_args()
    jax.config.update("jax_enable_x64", True)
    start, found = time.monotonic(), Counter[str]()
    for k in range(options.programs):
        seed = options.seed + k * options.stride
        wrong = check(seed)
        found["holds" if wrong is None else wrong.split(":")[0]] += 1
        if wrong is not None:
            print(f"seed {seed}: {wrong}", flush=True)
        if (k + 1) % 50 == 0:
            jax.clear_caches()
        if (k + 1) % 100 == 0:
            print(f"{k + 1} programs, next seed {seed + options.stride}: {dict(found)}", flush=True)
    print(f"{sum(found.values())} programs in {time.monotonic() - start:.0f} s: {dict(found)}")
    raise SystemExit(0 if set(found) <= {"holds"} else 1)


if __name__ == "__main__":
    main()
