"""Small PyTorch programs whose verdict, and the line where it begins (marked "# here"), are known."""

import inspect

import numpy as np
import torch


def normal(*shape: int, seed: int = 0, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.tensor(np.random.default_rng(seed).normal(size=shape)).to(dtype)


def line_of(fn) -> int:
    """The line of the mark in a function's source."""
    lines, start = inspect.getsourcelines(fn)
    return start + next(i for i, text in enumerate(lines) if "# here" in text)


W = normal(6, 6, seed=1)


# ---- leaks ----


def leak_plain(x):
    y = x.abs()
    return y - y.mean()  # here


def leak_loop(x):
    v = x
    for _ in range(3):
        v = v * 0.5
        v = v + v.amax(0)  # here
    return v


def leak_buffer(x):
    buffer, out = torch.zeros(4, 6), []
    for c in x.split(4):
        buffer[: len(c)] = c
        top = buffer.abs().amax()  # here
        out.append(c / top)
    return torch.cat(out)


def leak_backward(x):
    v = x.detach().requires_grad_()
    loss = (v * v).sum() * v.mean()  # here
    return torch.autograd.grad(loss, v)[0]


def leak_in_place(x):
    y = x.clone()
    y += x.sum(0)  # here
    return y * 2


def leak_first_row(x):
    first = x[0]
    return x * first  # here


def leak_squeeze(x):
    f = x.squeeze()
    if f.ndim == 1:
        f = f - f.mean()  # here
    return (f * 2).reshape(len(x), -1)


def leak_steps(x):
    v = x.abs() + 1
    while v.max() < 50:  # here
        v = v * 1.5
    return v


# ---- rows for themselves ----


def polynomial(x):
    return torch.where(x > 0, x * x * 0.25 + x, x - 0.25)


def one_by_one(x):
    return torch.stack([row * row.amax() for row in x])


def chunks(x):
    return torch.cat([c * 2 for c in x.split(4)])


def sorted_and_back(x):
    order = x.sum(1).argsort()
    return (x[order] * 2)[order.argsort()]


def vanishing(x):
    return x * 2 + 0 * (x - x.mean(0)).sign().abs().sum().clamp(max=0)


def gradient(x):
    v = x.detach().requires_grad_()
    return torch.autograd.grad((v**2).sum(), v)[0]


# ---- not the same twice ----


def noisy(x):
    return torch.nn.functional.dropout(x, 0.5)  # here


_kept = torch.ones(6)


def stateful(x):
    _kept.mul_(1.5)  # here
    return x * _kept
