"""The contract's constants, as spec/order.md tables them (tests/contract compares the two, and the C header)."""

VERSION = 1
"""Clause VER-1."""

CHUNK = 256
"""Terms in a chunk (clauses DOT-2, SUM-2, PROD-1, CUM-1)."""

LANES = 16
"""Virtual lanes of a sum (clauses SUM-3, PROD-1)."""

NAN_FLOAT16 = 0x7E00
NAN_BFLOAT16 = 0x7FC0
NAN_FLOAT32 = 0x7FC00000
NAN_FLOAT64 = 0x7FF8000000000000
"""The canonical NaNs (clause NUM-4)."""
