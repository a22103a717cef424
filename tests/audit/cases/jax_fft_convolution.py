"""A filter applied to each row by way of the Fourier transform."""

import jax.numpy as jnp
import numpy as np

META = dict(
    framework="jax",
    form="single",
    topic="convolution by FFT",
    source="jax-ml/jax#27591",
    title="jax.lax.map result changes drastically with large batch_size",
    url="https://github.com/jax-ml/jax/issues/27591",
    relation="reduced from",
    expected="rounding",
    axes=["vmap", "batch_size"],
    culprit_op="fft",
    culprit_kind="FFT of several rows at once",
    n=64,
)

TAPS = jnp.asarray(np.sinc(np.arange(-20, 21) / 2.0), jnp.float32)


def make_input(n):
    return jnp.asarray(np.random.default_rng(330).normal(size=(n, 90)), jnp.float32)


def single(row):
    spectrum = jnp.fft.rfft(row, 130) * jnp.fft.rfft(TAPS, 130)  # CULPRIT
    return jnp.fft.irfft(spectrum, 130)[20:110]
