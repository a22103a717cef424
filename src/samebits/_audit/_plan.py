"""What an audit tries: batch sizes, orders of rows, and other content for the neighbours."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from samebits._audit import _bits
from samebits._frontends import Batch

AXES = ("size", "position", "content", "single", "eager", "repeat")

# Sizes around which libraries change their kernels: one row, odd tails, a vector, a thread's share, a cache block. Few,
# since each is a compilation.
SIZES = (1, 2, 3, 7, 16, 33, 64, 256, 1000)

# In the order in which they are tried where time is short: the sizes most unlike a whole batch first.
URGENT = (1, 7, 33, 2, 64, 3, 16, 256, 1000)

# A size at which one other row can decide a maximum, a queue or a count; part of SIZES, so nothing is compiled twice.
# The others are for functions that do not run on it (even sizes only, at least so many).
FEW = 7
SMALL = (FEW, 8, 6, 4, 16, 5, 12, 32)
TINY = (3, 2, 4)

# Draws that a whole batch gets, where each costs a full call.
MAIN = 4

SEED = 20_240_613


def sizes(rows: int) -> tuple[int, ...]:
    """The sizes below that of the batch."""
    return tuple(s for s in SIZES if s < rows)


def orders(n: int) -> dict[str, np.ndarray]:
    """Permutations of n rows: backwards, and shuffled."""
    return {"backwards": np.arange(n)[::-1].copy(), "shuffled": np.random.default_rng(SEED).permutation(n)}


def take(leaves: tuple[np.ndarray, ...], rows: np.ndarray) -> tuple[np.ndarray, ...]:
    return tuple(a[rows] for a in leaves)


@dataclass(frozen=True)
class Draw:
    """A batch in which the rows `kept` are as they were and the others are not."""

    label: str
    leaves: tuple[np.ndarray, ...]
    kept: np.ndarray


def draws(batch: Batch, n: int) -> Iterator[Draw]:
    """Other content for the neighbours among the first n rows.

    One draw is not enough: leaks through a maximum or a queue appear only in small batches, with rows scaled by eight,
    with half the rows kept, or with the others set to copies of a kept row. Some leaks look backwards only, or at row
    zero only, so later rows are kept too. The first MAIN draws are one of each kind.
    """
    rng = np.random.default_rng(SEED + n)
    base = take(batch.leaves, np.arange(n))
    few = np.unique([0, n // 3, 2 * n // 3, n - 1])
    half = np.sort(rng.permutation(n)[: max(1, n // 2)])
    pool = np.arange(batch.rows)

    def others(kept: np.ndarray, what: str, scale: float = 1.0) -> Draw:
        rows = rng.choice(pool, n)  # with replacement: a permutation would keep every mean and maximum
        new = _scaled(_mixed(batch, rng, n) if what == "mixed" else take(batch.leaves, rows), batch, scale)
        label = "other rows" + (" mixed by entry" if what == "mixed" else "") + (f" x {scale:g}" if scale != 1 else "")
        return Draw(f"{len(kept)} of {n} kept, {label}", _keep(base, new, kept), kept)

    yield others(few, "mixed")
    yield others(half, "rows", 8.0)
    yield Draw(
        f"{len(half)} of {n} kept, the others copies of row {half[0]}",
        _keep(base, take(base, np.full(n, half[0])), half), half,
    )  # fmt: skip
    yield others(np.array([n - 1]), "rows", 8.0)
    yield others(few, "rows")
    yield others(few, "rows", 8.0)
    yield others(half, "rows")
    for r in sorted({0, n // 2, n - 1}):
        kept = np.array([r])
        yield Draw(f"all rows copies of row {r}", take(base, np.full(n, r)), kept)


def _keep(base: tuple[np.ndarray, ...], new: tuple[np.ndarray, ...], kept: np.ndarray) -> tuple[np.ndarray, ...]:
    out = []
    for a, b in zip(base, new, strict=True):
        c = b.copy()
        c[kept] = a[kept]
        out.append(c)
    return tuple(out)


def _mixed(batch: Batch, rng: np.random.Generator, n: int) -> tuple[np.ndarray, ...]:
    """Each entry of a row from a row of its own; keys stay whole."""
    out = []
    for i, a in enumerate(batch.leaves):
        flat = a.reshape(len(a), -1)
        if i in batch.opaque:
            out.append(a[rng.choice(len(a), n)])
        else:
            rows = rng.choice(len(a), (n, flat.shape[1]))
            out.append(np.take_along_axis(flat, rows, axis=0).reshape(n, *a.shape[1:]))
    return tuple(out)


def _scaled(leaves: tuple[np.ndarray, ...], batch: Batch, scale: float) -> tuple[np.ndarray, ...]:
    """Floats times a scale; integers may be indices, and stay."""
    if scale == 1:
        return leaves
    return tuple(
        (a * a.dtype.type(scale)).astype(a.dtype) if i not in batch.opaque and _bits.rounds(a.dtype) else a
        for i, a in enumerate(leaves)
    )


def can_be_nudged(batch: Batch) -> bool:
    """Whether a batch holds any float."""
    return any(i not in batch.opaque and _bits.rounds(a.dtype) for i, a in enumerate(batch.leaves))


def nudged(batch: Batch, ulps: int, seed: int) -> tuple[np.ndarray, ...]:
    """The batch with its floats moved by up to `ulps` units in the last place, up or down at random.

    Zeros stay (they may be a mask), unless a row holds nothing else.
    """
    floats = [i for i, a in enumerate(batch.leaves) if i not in batch.opaque and _bits.rounds(a.dtype)]
    silent = np.ones(batch.rows, bool)
    for i in floats:
        silent &= (batch.leaves[i].reshape(batch.rows, -1) == 0).all(axis=1)
    out = list(batch.leaves)
    for i in floats:
        out[i] = moved(out[i], ulps, seed, silent.reshape((-1,) + (1,) * (out[i].ndim - 1)))
    return tuple(out)


def moved(a: np.ndarray, ulps: int, seed: int, silent: np.ndarray | bool = False) -> np.ndarray:
    """Floats up or down by `ulps` units; where `silent`, by units of the array's largest entry."""
    if a.dtype.kind == "c":
        return moved(np.real(a), ulps, seed, silent) + np.asarray(1j, a.dtype) * moved(
            np.imag(a), ulps, seed + 1, silent
        )
    wide = a.astype(np.float64)
    floor = np.abs(wide[np.isfinite(wide)]).max(initial=0.0) * np.asarray(silent)
    step = np.random.default_rng(seed).choice([-1.0, 1.0], a.shape) * ulps * _bits.epsilon(a.dtype)
    with np.errstate(invalid="ignore", over="ignore"):
        return (wide + step * np.maximum(np.abs(wide), floor)).astype(a.dtype)
