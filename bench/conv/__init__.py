"""Convolutions against torch (oneDNN): `python -m bench.conv`, results in bench/conv.md.

layers.py     one convolution; the tables: which layers, with which targets
operands.py   the data of a layer in both channel orders, and the truth
calls.py      sb_conv through the C ABI, torch's conv2d
worker.py     the child process; turns, pictures and the rest of the machinery are those of bench/harness
page.py       from ratios to bench/conv.md
"""
