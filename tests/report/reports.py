"""A report with everything in it, names that would be markup among it."""

import numpy as np

from samebits.report import (
    Axis,
    Candidate,
    Cause,
    Difference,
    Finding,
    Magnifier,
    Measurement,
    Report,
    Step,
    Tree,
    Witness,
)  # fmt: skip

HOSTILE = "<script>alert(1)</script>\"'&\u202ename"


def everything(**changes):
    worst = Difference(3, 2e-7, 1.5e-7, 2, 17, HOSTILE, "1.0 (3f800000)", "1.1 (3f8ccccd)", "7 against 64 rows")
    rows = tuple(range(40))
    measured = tuple(
        Measurement(f"{n} against 64 rows", n, rows, tuple((r * n) % 7 * 1e-7 for r in rows),
                    tuple((r * n) % 7 for r in rows), 40, 34) for n in (1, 7, 33)
    )  # fmt: skip
    axes = (
        Axis("batch size", "rounding", worst, ("1", "7", "33"), ("7 against 64 rows",), 1e-5, reason="84 epsilons",
             measurements=measured),
        Axis("content", "holds", None, ("10 draws at 7",), notes=(HOSTILE,)),
        Axis("single call", "not run", None, ()),
    )  # fmt: skip
    first = Finding("dot_general", __file__, 12, HOSTILE, "    y = w @ x", "/v/site-packages/lib/nn.py", 3, "call",
                    "batch size", "lockstep", 2, "float32[7, 3]", "what only a fusion causes")  # fmt: skip
    steps = (
        Step("dot_general", "float32[7, 3]", __file__, 12, "y = w @ x", 4, 1, 1e-7, "born"),
        Step("exp", "float32[7, 3]", __file__, 13, HOSTILE, 4, 9, 3e-6, "grows"),
        Step("argmax", "int32[7]", None, None, "", 0, 0, 0.0, "dies"),
    )
    values = dict(
        verdict="rounding", axes=axes, first=first, subject=HOSTILE, file=__file__, framework="jax", rows=64,
        form="batch", mode="jit", notes=(HOSTILE,), seconds=1.5, versions={"jax": "0"}, findings=(first,),
        witnesses=(Witness("float64", "repeated in float64", "1e-16 of the row", "rounding"),),
        magnified=Magnifier("conditioning", "exp", __file__, 13, "y", 30.0, "differences grow 30 times"),
        profile=steps, trees=(Tree("dot, 7 rows", 7, 4, ((0, 1, 4), (2, 3, 5), (4, 5, 6)), "pairs"),),
        causes=(Cause("another kernel", "what", "why", ("an experiment", HOSTILE), "fix", "safe"),),
        advice=(
            Candidate("invariant", "samebits.jax.invariant(f)", "holds", "by construction", 1e-5, 0.8),
            Candidate("as it is", "f", "rounding", "", 1.2e-5, 1.0),
            Candidate("a compiler option", HOSTILE, "", "measured", refusal=HOSTILE),
        ),
    )  # fmt: skip
    return Report(**{**values, **changes})


def endless():
    """Figures that are not finite."""
    worst = Difference(None, np.inf, np.inf, 2, 17, "", "inf (7f800000)", "1.0 (3f800000)", "7 against 64 rows")
    m = Measurement("7 against 64 rows", 7, (0, 1), (np.inf, 0.0), (-1, 0), 2, 1)
    axis = Axis("batch size", "amplified", worst, ("7",), ("7 against 64 rows",), 1e-5, measurements=(m,))
    step = Step("exp", "float32[7]", None, None, "", 1, None, np.inf, "born")
    return everything(verdict="amplified", axes=(axis,), profile=(step,), first=None, findings=())
