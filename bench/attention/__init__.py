"""Attention against torch and XLA: `python -m bench.attention`, results in bench/attention.md.

shapes.py     one attention; the table: which ones, with which targets
operands.py   its data, and the truth
calls.py      sb_attention through the C ABI, torch's scaled_dot_product_attention, jax.nn.dot_product_attention
worker.py     the child process; turns, pictures and the rest of the machinery are those of bench/harness
page.py       from ratios to bench/attention.md
"""
