"""Whole programs, stock jit against jit of invariant: a family of programs a file, each with rows()."""
