"""Matrix products against MKL, OpenBLAS, XLA CPU and torch: `python -m bench.matmul`, results in bench/matmul.md.

cases.py      the tables: which products, against whom, with which targets
__main__.py   the driver: child processes, turns, files
worker.py     a child process with its settings fixed at start, which times what the driver asks for
operands.py   data of a case, and the copies of the right operand
native.py     timer.c compiled and wrapped: calls through the C ABI
ours.py, blas.py, frameworks.py    the competitors
roofline.py   what the machine allows
summary.py, page.py, picture.py    from times to ratios, from ratios to files
"""
