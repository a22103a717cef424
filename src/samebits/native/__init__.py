"""The native library on NumPy arrays: the contract's operations, bit for bit those of ``samebits.order``."""
