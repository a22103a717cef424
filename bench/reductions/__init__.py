"""Reductions against XLA, torch and NumPy: `python -m bench.reductions`, results in bench/reductions.md.

case.py       one reduction; the tables: which, with which targets
operands.py   the data of a reduction, and the truth
ours.py       sb_reduce and its kin through the C ABI
peers.py      the same in torch, XLA and NumPy
worker.py     the child process; turns, pictures and the rest of the machinery are those of bench/harness
page.py       from ratios to bench/reductions.md
"""
