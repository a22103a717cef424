"""docs/primitives.md: every primitive of the installed JAX, under which rule it runs or why it is refused.

The page is asked of the rule table, never written: small equations of each primitive (from JAX's own test programs,
which its wheel has, and the programs of dev/primitive_samples.py) are given to the rules in several dtypes.

    python -m dev.primitives           rewrites the page
    python -m dev.primitives --check   says what is stale or has no line, and fails then
"""

import argparse
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jax

from dev.primitive_samples import bare_equations, sample_equations
from samebits._errors import UncoveredOperation
from samebits.jax import _compat, rules
from samebits.jax._rule import kinds
from samebits.jax.rules import _control, _refused

PAGE = Path(__file__).parents[1] / "docs" / "primitives.md"
_ON_DEMAND = ("pallas_call",)
"""Primitives of modules that may not be loaded."""
KINDS = {"f": "real floats", "c": "complex", "n": "8-bit floats", "i": "integers, bools", "o": "keys and others"}
_HEAD = """\
# JAX's primitives, and their rules

Written by `python -m dev.primitives` from the rules in `src/samebits/jax/rules`: small equations of each primitive of
jax {version}, in several dtypes, were given to them. CI fails when the page is stale or a primitive has no line.

- **portable** and a clause of [spec/order.md](../spec/order.md): computed natively, the same bits on every machine.
- **exact**: portable as well, since nothing rounds: movement, integers, bits, sorting; control flow, whose bodies have
  rules of their own; callbacks, whose numbers are the user's.
- **batch**: the same bits in every batch on this machine.
- **as others**: rewritten in terms of other primitives, or a call whose body has rules of its own.
- **refused**: `samebits.UncoveredOperation`, for the reason below the table. Two answers in one place are two dtypes or
  two sets of parameters.
- An empty cell: the primitive takes no such operands, or none were tried.

"Real floats" are float16, bfloat16, float32 and float64.
The {count} primitives by their best answer: {summary}.
"""


@dataclass
class Line:
    """A primitive's answers for each kind of operand, and the family that it belongs to."""

    name: str
    family: str
    cells: dict[str, dict[str, None]] = field(default_factory=dict)

    def add(self, kind: str, answer: str) -> None:
        self.cells.setdefault(kind, {})[answer] = None

    @property
    def level(self) -> str:
        """The best of its answers."""
        words = {a.split()[0].rstrip(":") for cell in self.cells.values() for a in cell}
        return next((w for w in ("portable", "batch", "exact", "as", "refused") if w in words), "")


def answer(eqn: Any) -> str:
    """What the rules say of an equation: "portable ADD-1", "refused: reason; way out: ..."."""
    if eqn.primitive.name in _control.CALLS:
        return "as others"
    if (inlined := rules.inlined(eqn)) is not None:
        return _lowest(inlined[0])
    try:
        rule = rules.rule_for(eqn)
    except UncoveredOperation as refusal:
        return _refusal(refusal.reason, refusal.way_out)
    level = "exact" if rule.clause in _EXACT else rule.level
    return f"{level} {rule.clause}"


def _refusal(reason: str, way_out: str) -> str:
    return f"refused: {reason}; way out: {way_out}"


def _lowest(closed: Any) -> str:
    """What becomes of an equation that is written as others: a refusal or level batch among them decides."""
    found = []
    for eqn in closed.jaxpr.eqns:
        inlined = rules.inlined(eqn) if eqn.primitive.name in _control.CALLS else None
        found.append(_lowest(inlined[0]) if inlined else answer(eqn))
    levels = ("refused", "batch")
    return next((a for level in levels for a in found if a.startswith(level)), "as others")


_EXACT = {rules.clause(name) for name in ("move", "exact", "control", "callback", "sort", "select", "any")}


def kind(eqn: Any) -> str:
    """The kind of operand that decides: the rarest that an equation has."""
    found = kinds(eqn)
    return next((k for k in "cnf" if k in found), "i" if found & {"i", "b"} else "o")


def family(name: str) -> str:
    """The module of the primitive's rule."""
    return rules.TABLE[name].__module__ if name in rules.TABLE else _refused.__name__


def lines() -> tuple[list[Line], list[str], list[str]]:
    """The page's lines; primitives that neither a rule nor a refusal names; those of the table that were not asked."""
    names = sorted(p.name for p in _compat.jax_primitives())
    found = {name: Line(name, family(name)) for name in names}
    unknown = [n for n in names if not ({n} & (rules.TABLE.keys() | rules.REFUSED.keys()))]
    for eqn in sample_equations():
        if eqn.primitive.name in found and eqn.primitive in _compat.jax_primitives():
            found[eqn.primitive.name].add(kind(eqn), answer(eqn))
    for name in found.keys() & _control.CALLS.keys():
        found[name].cells = found[name].cells or {k: {"as others": None} for k in KINDS}
    for eqn in bare_equations({p for p in _compat.jax_primitives() if not found[p.name].cells}):
        if isinstance(eqn, SimpleNamespace) and found[eqn.primitive.name].cells:
            continue
        try:
            found[eqn.primitive.name].add(kind(eqn), answer(eqn))
        except Exception:  # its rule looks at parameters that a bare equation lacks
            continue
    written = set(_control.CALLS) | {n for n in unknown if found[n].level in ("as", "batch")}
    for name in written & found.keys():
        found[name].family = _control.__name__
    for name in _ON_DEMAND:
        found.setdefault(name, Line(name, _refused.__name__, {"f": {_refusal(*rules.REFUSED[name]): None}}))
    unasked = [line.name for line in found.values() if not line.cells]
    return list(found.values()), [n for n in unknown if n not in written], unasked


_SUMMARY = {"portable": "portable", "batch": "batch", "exact": "exact", "as": "as others", "refused": "refused"}


def page(found: list[Line]) -> str:
    counts = Counter(line.level for line in found)
    summary = ", ".join(f"{counts[level]} {text}" for level, text in _SUMMARY.items())
    parts = [_HEAD.format(version=jax.__version__, count=len(found), summary=summary)]
    without = [line for line in found if line.family == _refused.__name__]
    modules = sorted({line.family for line in found} - {_refused.__name__}, key=lambda m: (m == rules.__name__, m))
    parts += [_section(m, [line for line in found if line.family == m]) for m in modules]
    return "\n".join([*parts, _refusals(without)])


def _section(module: str, members: list[Line]) -> str:
    """The table of a family, and its reasons of refusals."""
    title = module.rpartition(".")[2].strip("_").replace("_", " ").capitalize()
    text = (sys.modules[module].__doc__ or "").partition("\n\n")[0].replace("\n", " ")
    if module == rules.__name__:
        title, text = "Others", "Rules of a line or two, which stand with the table."
    shown = [k for k in KINDS if any(k in line.cells for line in members)]
    notes: dict[str, int] = {}

    def short(text: str) -> str:
        level, _, reason = text.partition(": ")
        return text if level != "refused" else f"refused ({notes.setdefault(reason, len(notes) + 1)})"

    out = [f"## {title}", "", text, "", f"| primitive | {' | '.join(KINDS[k] for k in shown)} |",
           "|---" * (len(shown) + 1) + "|"]  # fmt: skip
    for line in members:
        cells = ["; ".join(short(a) for a in sorted(line.cells.get(k, ()))) for k in shown]
        out.append(f"| {line.name} | {' | '.join(cells)} |")
    if notes:
        out += ["", *(f"{n}. {reason}" for reason, n in notes.items())]
    return "\n".join([*out, ""])


def _refusals(members: list[Line]) -> str:
    """Primitives without a rule, by the reason."""
    reasons: dict[str, list[str]] = {}
    for line in members:
        for text in sorted({a for cell in line.cells.values() for a in cell}):
            reasons.setdefault(text.removeprefix("refused: "), []).append(line.name)
    out = ["## Refused", "", "Primitives without a rule.", "", "| primitives | reason | way out |", "|---|---|---|"]
    for text, names in reasons.items():
        reason, _, way_out = text.partition("; way out: ")
        out.append(f"| {', '.join(names)} | {reason} | {way_out} |")
    return "\n".join([*out, ""])


def written_for() -> str:
    """The version of JAX that the page was written for."""
    return PAGE.read_text().partition("\njax ")[2].partition(",")[0]


def problems(found: list[Line], unknown: Iterable[str], unasked: Iterable[str]) -> Iterator[str]:
    """What a check complains about."""
    if unknown:
        yield (
            f"jax {jax.__version__} has primitives without a line: {', '.join(unknown)}\n"
            "  way out: give each a rule, or a reason in src/samebits/jax/rules/_refused.py"
        )
    if unasked:
        yield (
            f"no sample equation reaches the rules of {', '.join(unasked)}\n"
            "  way out: add a program that has one to dev/primitive_samples.py"
        )
    both = sorted(rules.TABLE.keys() & rules.REFUSED.keys())
    if both:
        yield f"both a rule and a refusal: {', '.join(both)}\n  way out: delete them from rules/_refused.py"
    if written_for() == jax.__version__ and PAGE.read_text() != page(found):
        yield f"{PAGE} is stale\n  way out: python -m dev.primitives"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="change nothing; fail where the page would change")
    check = parser.parse_args().check
    found, unknown, unasked = lines()
    if not check:
        PAGE.write_text(page(found))
    said = list(problems(found, unknown, unasked))
    print("\n".join(said) or f"{PAGE.name}: {len(found)} primitives of jax {jax.__version__}")
    return bool(said)


if __name__ == "__main__":
    sys.exit(main())
