"""One row is computed by other code than several."""

from samebits._audit.causes._evidence import PRODUCTS, Evidence, quoted
from samebits.report import Cause


def cause(e: Evidence) -> Cause | None:
    sizes = e.measured("batch size")
    alone = [m for m in sizes if m.size == 1]
    several = [m for m in sizes if m.size > 1]
    if not (e.is_rounding and alone and len(several) >= 2):
        return None
    if not all(m.differing for m in alone) or any(m.differing for m in several):
        return None
    product = e.operation in PRODUCTS
    return Cause(
        "a matrix-vector product at one row" if product else "other code at one row",
        f"A batch of one row goes another way through {e.operation or 'the program'} than all larger ones.",
        "A product with one row is a matrix-vector product, for which libraries have other kernels, with another order "
        "of additions." if product else "A compiler drops an axis of size one, and arranges what is left otherwise.",
        quoted(sizes),
        "Call with two rows or more (repeat the row), samebits.jax.tiled(f, rows=8), or samebits.jax.invariant(f).",
        "Repeating the row changes nothing but this machine's kernel choice; invariant holds by construction.",
    )  # fmt: skip
