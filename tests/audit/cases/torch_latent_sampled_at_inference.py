"""A variational encoder goes on sampling its latent from the global generator when it should give the mean."""

import torch

META = dict(
    framework="torch",
    form="batched",
    topic="sampling at inference",
    source="huggingface/diffusers#11016",
    title="Inconsistent results of Stable Diffusion when batch size is different",
    url="https://github.com/huggingface/diffusers/issues/11016",
    relation="inspired by",
    expected="nondeterministic",
    axes=["repeat", "batch_size"],
    culprit_op="randn_like",
    culprit_kind="global random state",
    leak_kind="sampling",
    n=64,
)


def make_input(n):
    return torch.randn(n, 8, generator=torch.Generator().manual_seed(540))


def fn(x):
    mean, log_scale = x.chunk(2, 1)
    return mean + log_scale.exp() * torch.randn_like(mean)  # CULPRIT


def fixed(x):
    return x.chunk(2, 1)[0].clone()
