"""Matrix products against MKL, OpenBLAS, XLA CPU and torch: `python -m bench.matmul`, results in bench/matmul.md.

case.py, tables.py       one product; the tables: which products, against whom, with which targets
driver.py, turns.py      the driver: child processes with their settings, which take turns
worker.py                the child: times what the driver asks for
operands.py              the data of a case, the copies of its right operand, and the truth
native.py, timer.c       calls through the C ABI
competitors.py           everybody by name: ours.py, blas.py (MKL, OpenBLAS), frameworks.py (torch, XLA)
roofline.py, machine.py  what the machine allows
summary.py               from times to ratios; page.py and picture.py: from ratios to files
"""
