"""Softmax, norms and activations against XLA and torch: `python -m bench.rows`, results in bench/rows.md.

cases.py      one operation on rows; the tables: which sizes, with which targets
operands.py   the data of a case, and the truth
calls.py      samebits through the C ABI, XLA's and torch's own functions
worker.py     the child process; turns, pictures and the rest of the machinery are those of bench/harness
page.py       from ratios to bench/rows.md
"""
