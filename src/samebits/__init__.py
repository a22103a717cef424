"""The same input gives the same bits, whatever the batch.

``samebits.audit`` finds where a program's bits depend on the batch, ``samebits.jax.invariant`` rewrites a JAX
program so that they do not, ``samebits.order`` is the definition of each operation. Importing this package imports
no framework; ``samebits.jax`` is imported on first use.
"""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING

from samebits._errors import (
    NativeError as NativeError,
    SamebitsError as SamebitsError,
    UncoveredOperation as UncoveredOperation,
)

__version__ = "0.1.0"

if TYPE_CHECKING:
    from samebits import bits as bits, jax as jax, native as native, order as order
    from samebits._audit import audit as audit

_modules = ("bits", "jax", "native", "order", "testing")


def __getattr__(name: str):
    if name == "audit":
        return _import_module("samebits._audit").audit
    if name in _modules:
        return _import_module(f"samebits.{name}")
    raise AttributeError(f"module 'samebits' has no attribute {name!r}")


def __dir__():
    return sorted([*globals(), *_modules, "audit"])
