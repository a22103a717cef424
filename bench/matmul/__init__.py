"""Matrix products against MKL, OpenBLAS, XLA CPU and torch: `python -m bench.matmul`, results in bench/matmul.md.

case.py, tables.py       one product; the tables: which products, against whom, with which targets
operands.py              the data of a case, the copies of its right operand, and the truth
competitors.py           everybody by name: ours.py, blas.py (MKL, OpenBLAS), frameworks.py (torch, XLA)
worker.py                the child process; turns, pictures and the rest of the machinery are those of bench/harness
page.py, picture.py      from ratios to bench/matmul.md, and the roofline
"""
