"""Another kernel, or another split of a sum, at other sizes."""

from samebits._audit.causes._evidence import PRODUCTS, Evidence, quoted
from samebits.report import Cause


def cause(e: Evidence) -> Cause | None:
    sizes = e.measured("batch size")
    several = [m.size for m in sizes if m.size > 1 and m.differing]
    if not (e.is_rounding and e.operation in PRODUCTS and several and e.holds("position")):
        return None
    same = [m.size for m in sizes if not m.differing]
    return Cause(
        "another kernel at other sizes",
        f"On equal inputs {e.operation} gives other bits at {_listed(several)} rows than in the whole batch"
        + (f", and the same at {_listed(same)}." if same else "."),
        "Libraries choose their blocks and the order of additions by the shapes; at one shape a row's place does not "
        "matter here.",
        (*quoted(sizes), *quoted(e.measured("position"), 2)),
        "samebits.jax.tiled(f, rows=8) keeps one shape; samebits.jax.invariant(f) fixes the order.",
        "tiled is held by measurement, invariant by construction; neither changes the result by more than rounding.",
    )


def _listed(sizes: list[int]) -> str:
    return ", ".join(map(str, sorted(set(sizes))))
