"""Two runs' operations side by side."""

import difflib
from collections import Counter
from collections.abc import Iterable
from typing import Any

from samebits.torch._record import Operation


def matched(a: list[Operation], b: list[Operation]) -> list[tuple[int | None, int | None]]:
    """Two runs' calls side by side by number; None where one of them has no counterpart."""
    x, y = (_numbered(o.signature for o in ops) for ops in (a, b))
    if x == y:
        return [(i, i) for i in range(len(a))]
    out: list[tuple[int | None, int | None]] = []
    for tag, i, j, k, m in difflib.SequenceMatcher(None, x, y, autojunk=False).get_opcodes():
        if tag == "equal":
            out += zip(range(i, j), range(k, m), strict=True)
            continue
        left, right = list(range(i, j)), list(range(k, m))
        if [a[u].place for u in left] == [b[v].place for v in right]:  # other operations from the same lines
            out += zip(left, right, strict=True)
        else:
            out += _by_line(a, left, b, right)
    return out


def _numbered(signatures: Iterable[Any]) -> list[tuple[Any, int]]:
    """Each with how often it has been before: iterations of loops of other lengths pair up from the first on."""
    seen: Counter[Any] = Counter()
    out = []
    for s in signatures:
        out.append((s, seen[s]))
        seen[s] += 1
    return out


def _by_line(a: list[Operation], left: list[int], b: list[Operation], right: list[int]) -> list[Any]:
    """The last call of each line stands for the line, where two runs do it by other operations."""
    ends = [{ops[k].place: k for k in numbers} for ops, numbers in ((a, left), (b, right))]
    pairs = {u: ends[1][place] for place, u in ends[0].items() if place in ends[1]}
    used = set(pairs.values())
    out: list[Any] = [(None, v) for v in right if v not in used]
    return out + [(u, pairs.get(u)) for u in left]
