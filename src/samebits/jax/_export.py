"""Exported programs: what jax.export writes, with the native programs in it."""

from collections.abc import Callable, Sequence
from typing import Any

import jax

from samebits.jax._native import TARGET, register


def export(f: Callable[..., Any], *, platforms: Sequence[str] | None = None) -> Callable[..., Any]:
    """jax.export.export for a function that holds `invariant` parts: export(f)(*args) is a jax.export.Exported.

    f is jitted if it is not. JAX promises compatibility over time for its own custom calls only; this allows ours as
    well. An exported program is read by the same version of samebits: another refuses one whose format it does not
    know. Raises samebits.UncoveredOperation for symbolic shapes, and for jit over several devices (shard_map is fine).
    """
    from jax import export as jax_export

    platforms = [platforms] if isinstance(platforms, str) else platforms
    jitted: Any = f if hasattr(f, "lower") else jax.jit(f)
    return jax_export.export(
        jitted, platforms=platforms, disabled_checks=[jax_export.DisabledSafetyCheck.custom_call(TARGET)]
    )


def deserialize(blob: bytes | bytearray) -> Any:
    """jax.export.deserialize, with the kernels loaded that the program calls.

    Raises NativeError where these cannot be loaded, ValueError for bytes that no export wrote.
    """
    from jax import export as jax_export

    register()
    try:
        return jax_export.deserialize(bytearray(blob))
    except Exception as error:  # the reader's own: struct.error, IndexError, UnicodeDecodeError ...
        raise ValueError(
            f"deserialize() takes what an Exported's serialize() returned; these {len(blob)} bytes are not that, or "
            f"were written by a JAX that this one cannot read ({type(error).__name__}: {error})"
        ) from error
