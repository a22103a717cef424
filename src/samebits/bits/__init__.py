"""Bits of arrays: equality, distance in ulps, hex words, fingerprints, and a summary of how two arrays differ."""

from samebits.bits._compare import differing as differing, same as same
from samebits.bits._difference import Difference as Difference, difference as difference
from samebits.bits._ulp import ulp_distance as ulp_distance
from samebits.bits._words import (
    fingerprint as fingerprint,
    from_hex as from_hex,
    hex_words as hex_words,
    words as words,
)
