"""torch and XLA CPU, timed through Python."""

from typing import Any

import numpy as np

from bench.harness.calls import PythonCall, load_jax, load_torch
from bench.matmul.operands import Operands


def torch_plain(operands: Operands, dtype: str | None = None) -> list[PythonCall]:
    """torch.mm or torch.bmm with out=; with dtype, on operands and into a result of it."""
    torch = load_torch()
    if torch is None:
        return []
    batched = operands.case.batch > 1

    def tensor(x: np.ndarray) -> Any:
        if batched and x.shape[0] == 1:
            return torch.from_numpy(x[0]).expand(operands.case.batch, -1, -1)
        t = torch.from_numpy(x if batched else x[0])
        return t if dtype is None else t.to(getattr(torch, dtype))

    a, ring, product = tensor(operands.a), [tensor(b) for b in operands.ring], torch.bmm if batched else torch.mm
    out = tensor(operands.out)
    x = torch.zeros((1, 1, 1) if batched else (1, 1), dtype=a.dtype)
    y = torch.zeros_like(x)
    call = PythonCall(
        lambda b: product(a, b, out=out),
        ring,
        lambda b: product(x, b, out=y),
        x,
        "torch.bmm" if batched else "torch.mm",
    )
    call.result = lambda: (
        product(a, ring[0], out=out).float().numpy() if dtype else product(a, ring[0], out=out).numpy()
    )
    return [call] if call.measurable else []


def xla(operands: Operands) -> list[PythonCall]:
    """A jitted matmul whose operands are transposed inside where the case's are, so that XLA chooses the kernel."""
    jax = load_jax(x64=True)
    if jax is None:
        return []
    jnp, case = jax.numpy, operands.case

    def product(a: Any, b: Any) -> Any:
        return jnp.matmul(a.mT if case.layout == "TN" else a, b.mT if case.layout == "NK" else b)

    def array(x: np.ndarray, transposed: bool) -> Any:
        x = x.swapaxes(1, 2) if transposed else x
        return jnp.asarray(x if case.batch > 1 else x[0])

    f, a = jax.jit(product), array(operands.a, case.layout == "TN")
    ring = [array(b, case.layout == "NK") for b in operands.ring]
    one = jnp.zeros((1, 1), case.dtype)
    g = jax.jit(lambda x, y: x @ y)
    call = PythonCall(
        lambda b: f(a, b).block_until_ready(), ring, lambda b: g(one, b).block_until_ready(), one, "jax.jit"
    )
    return [call] if call.measurable else []
