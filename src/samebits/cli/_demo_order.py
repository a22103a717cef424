"""The demo's additions: three numbers in two orders, and a mean of squares of 4,096 numbers."""

import jax
import jax.numpy as jnp
import numpy as np
from rich.table import Table

from samebits.cli._demo_measure import Say, Section, cost, differing, example, rows, stacked
from samebits.jax import invariant

TITLE = "Three numbers added in two orders"
SAID = ("10000, 10000", "1000, 1000.25")
"""What the text on greedy decoding prints for its two lines."""
WIDTH, ROWS, BATCH = 4096, 10, 256


def run(say: Say) -> Section:
    """Adds in both orders, by NumPy, stock JAX and invariant, and takes mean squares alone and in a batch."""
    program = example("addition_order")
    say("additions in two orders")
    table = Table(caption="(a + b) + c, then (b + c) + a, each addition rounded to the dtype")
    for heading in ("dtype", "a, b, c", "NumPy", "stock, jit", "invariant", "the text says"):
        table.add_column(heading)
    moved, kept = 0, 0
    for i, (name, dtype, numbers) in enumerate(program.LINES):
        both = [program.both_orders(dtype, numbers)]
        both += [jax.jit(f)(*(jnp.asarray(dtype(v)) for v in numbers)) for f in (_both, invariant(_both))]
        shown = [", ".join(f"{float(v):.10g}" for v in pair) for pair in both]
        moved += shown[1].split(", ")[0] != shown[1].split(", ")[1]
        kept += shown[2] == shown[0]
        table.add_row(name, ", ".join(f"{v:.10g}" for v in numbers), *shown, SAID[i] if i < len(SAID) else "")
    say("mean of squares of 4,096 numbers")
    x = jax.random.normal(jax.random.PRNGKey(3), (BATCH, WIDTH))
    counts = {name: _drift(f, x) for name, f in (("stock", _mean_square), ("invariant", invariant(_mean_square)))}
    one, ours = jax.jit(_mean_square), jax.jit(invariant(_mean_square))
    square = f"the mean of {WIDTH:,} squares differs from the row alone in {{}} of {ROWS} rows of a batch of {BATCH}"
    findings = {
        "stock": f"{moved} of {len(program.LINES)} lines depend on the order; {square.format(counts['stock'])}.",
        "starts at": "the addition itself: each rounds once, so whoever chooses the order chooses the bits.",
        "invariant": f"keeps the order that is written ({kept} of {len(program.LINES)} lines equal NumPy, which rounds "
        f"each addition), and a sum over an axis has one order for its length; {square.format(counts['invariant'])}.",
        "costs": cost(f"mean of squares, {BATCH} rows", lambda: one(x), lambda: ours(x)),
    }
    return Section(TITLE, table, findings)


def _both(a: jax.Array, b: jax.Array, c: jax.Array) -> tuple[jax.Array, jax.Array]:
    return (a + b) + c, (b + c) + a


def _mean_square(x: jax.Array) -> jax.Array:
    return jnp.mean(x * x, axis=-1)


def _drift(f, x: jax.Array) -> int:
    alone = stacked(jax.jit(f), x[:ROWS])
    return differing(rows(alone), rows(np.asarray(jax.jit(f)(x))))
