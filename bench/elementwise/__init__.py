"""Elementwise functions and programs against XLA CPU, torch and NumPy: `python -m bench.elementwise`.

cases.py      one function or program on one size; the tables: which, with which targets
operands.py   the data of a case, and the truth
calls.py      ours through the C ABI (a program of one map), the peers through Python
worker.py     the child process; turns, pictures and the rest of the machinery are those of bench/harness
page.py       from ratios to bench/elementwise.md
"""
