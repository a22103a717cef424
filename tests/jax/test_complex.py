"""Complex numbers in JAX programs: the bits of samebits.order, in every batch, with nothing left to XLA (CPX)."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import samebits
import samebits.jax as sj
from samebits import bits as words, order
from tests.jax.programs import bits, normal, row
from tests.jax.test_reference import NAMES, reference


def numbers(*shape: int, seed: int = 0, dtype: type = np.complex64):
    part = np.float32 if dtype is np.complex64 else np.float64
    return lax.complex(normal(*shape, seed=seed, dtype=part), normal(*shape, seed=seed + 50, dtype=part))


SPECIAL = [0.0, -0.0, 1e-45, -1e-40, 1.0, -1.0, 3.4e38, np.inf, -np.inf, np.nan, 0.1, -2.5]
ONE = ("neg abs sign sqrt rsqrt exp exp2 expm1 log log1p logistic sin cos tan sinh cosh tanh asin acos atan "
       "asinh acosh atanh square real imag").split()  # fmt: skip
TWO = "add sub mul div pow eq ne max min".split()


def grid():
    x, y = np.meshgrid(np.array(SPECIAL, np.float32), np.array(SPECIAL, np.float32))
    return order.complex(x.ravel(), y.ravel())


@pytest.mark.parametrize("name", ONE)
def test_functions_equal_the_reference(name):
    f, z = getattr(lax, f"{name}_p").bind, np.append(grid(), numbers(100))
    expected = order.mul(z, z) if name == "square" else getattr(order, name)(z)
    assert words.same(np.asarray(sj.invariant(lambda v: f(v))(z)), expected)


@pytest.mark.parametrize("name", TWO)
def test_operations_equal_the_reference(name: str):
    f, z = getattr(lax, f"{name}_p").bind, np.append(grid()[::5], numbers(10))
    a, b = (g.ravel() for g in np.meshgrid(z, z))
    expected = getattr(order, NAMES.get(name, name))(a, b)
    assert words.same(np.asarray(sj.invariant(lambda v, w: f(v, w))(a, b)), expected)


@pytest.mark.parametrize("power", [-3, -1, 0, 1, 2, 5])
def test_integer_powers_equal_the_reference(power):
    z = numbers(33)
    assert words.same(np.asarray(sj.invariant(lambda v: lax.integer_pow(v, power))(z)), order.integer_pow(z, power))


@pytest.mark.parametrize("n", [0, 1, 2, 3, 7, 17, 33])
def test_reductions_equal_the_reference(n):
    def f(z):
        every = [getattr(lax, f"reduce_{op}_p").bind(z, axes=(1,), out_sharding=None) for op in REDUCE]
        return [*every, *(f(z, axis=1, reverse=r) for f in CUMULATIVE for r in (False, True))]

    z = numbers(3, n, 2)
    got = sj.invariant(f)(z)
    expected = [getattr(order, op)(z, 1) for op in REDUCE]
    expected += [getattr(order, f.__name__)(z, 1, r) for f in CUMULATIVE for r in (False, True)]
    assert len(got) == len(expected) == 12
    for g, e in zip(got, expected, strict=True):
        assert words.same(np.asarray(g), e)


REDUCE = ("sum", "prod", "max", "min")
CUMULATIVE = (lax.cumsum, lax.cumprod, lax.cummax, lax.cummin)


@pytest.mark.parametrize("k", [0, 1, 3, 33, 257])
def test_products_equal_the_reference(k):
    a, b = numbers(3, k), numbers(k, 5, seed=1)
    assert words.same(np.asarray(sj.invariant(jnp.matmul)(a, b)), order.matmul(a, b))
    swapped = sj.invariant(lambda a, b: jnp.einsum("mk,kn->nm", a.conj(), b))(a, b)
    assert words.same(np.asarray(swapped), order.matmul(order.conj(a), b).T)
    mixed = sj.invariant(lambda a, b: lax.dot_general(a, b, (([1], [0]), ([], []))))(a.real, b)
    assert words.same(np.asarray(mixed), order.matmul(order.convert(a.real, "complex64"), b))


@pytest.mark.parametrize("name", ["add", "subtract", "multiply", "max", "min"])
def test_scatters_equal_the_reference(name):
    z, u, index = numbers(4, 3), numbers(6, 3, seed=1), np.array([1, 0, 1, 9, 2, 1])
    f = sj.invariant(lambda z, u: getattr(z.at[index], name)(u, mode="drop"))
    short = {"subtract": "sub", "multiply": "mul"}.get(name, name)
    expected = getattr(order, f"scatter_{short}")(z, index, u)
    assert words.same(np.asarray(f(z, u)), expected)
    many = jax.vmap(f)(jnp.stack([u[:4], z]), jnp.stack([u, u * 2]))
    assert words.same(np.asarray(many[1]), getattr(order, f"scatter_{short}")(z, index, np.asarray(u) * 2))


@pytest.mark.parametrize("source", ["bool", "int8", "uint32", "float16", "bfloat16", "float32"])
def test_conversions_equal_the_reference(source):
    x, z = jnp.arange(-5, 9, 0.5).astype(source), grid()
    convert = lax.convert_element_type_p.bind
    keywords = {"weak_type": False, "sharding": None}
    got = sj.invariant(lambda x: convert(x, new_dtype=np.dtype(np.complex64), **keywords))(x)
    assert words.same(np.asarray(got), order.convert(x, np.complex64))
    got = sj.invariant(lambda z: convert(z, new_dtype=x.dtype, **keywords))(z)
    assert words.same(np.asarray(got), order.convert(z, x.dtype))


def wave(x):
    """A complex network of one row: x [8] -> complex [5]."""
    z = jnp.exp(1j * x) * numbers(8, seed=1)
    h = jnp.tanh(numbers(5, 8, seed=2) @ z / 3)
    return (h - h.mean()) / (1 + jnp.abs(h) ** 2) + jnp.where(h.real > 0, h.conj(), h[::-1] ** 3)


def step(z, x):
    z = lax.cond(x[0] > 0, lambda z: z * jnp.exp(1j * x[0]), lambda z: z.conj() + x.sum(), z)
    return z, jnp.sort(jnp.stack([z, -z, 1j * z]))


def looped(x):
    z, out = lax.scan(step, wave(x)[0], x.reshape(4, 2))
    return z, out, lax.while_loop(lambda v: jnp.abs(v) < 9, lambda v: v * (1.25 + 0.5j), 1 + z / jnp.abs(z))


PROGRAMS = {
    "wave": wave,
    "looped": looped,
    "gradient": jax.grad(lambda x: jnp.sum(jnp.abs(wave(x)) ** 2)),
    "holomorphic": lambda x: jax.grad(lambda z: jnp.prod(jnp.sin(z) / z), holomorphic=True)(wave(x)),
    "loop gradient": jax.grad(lambda x: jnp.abs(lax.scan(step, wave(x)[0], x.reshape(4, 2))[0])),
    "jacobian": jax.jacfwd(lambda x: wave(x).real),
    "checkpoint": jax.grad(lambda x: jnp.sum(jnp.abs(jax.checkpoint(wave)(x)))),
    "movement": lambda x: jnp.roll(jnp.pad(wave(x), (1, 2), constant_values=2j), 3)[jnp.array([4, 1, 1])].reshape(3, 1),
    "reductions": lambda x: (wave(x).prod(), jnp.cumprod(wave(x)), wave(x).sum(), jnp.linalg.norm(wave(x))),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_rows_are_the_same_alone_batched_and_jitted(name):
    f, rows = sj.invariant(PROGRAMS[name]), normal(7, 8)
    many, jitted = jax.vmap(f)(rows), jax.jit(jax.vmap(f))(rows[:3])
    single = jax.jit(f)
    for i in range(3):
        alone = bits(f(rows[i]))
        assert alone == bits(single(rows[i])) == bits(row(many, i)) == bits(row(jitted, i))
    stock = PROGRAMS[name](rows[0])
    for ours, theirs in zip(*(jax.tree_util.tree_leaves(v) for v in (f(rows[0]), stock)), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=2e-3, atol=2e-4)
    assert sj.coverage(jax.vmap(f), rows).hlo_findings == []


@pytest.mark.parametrize("name", ["wave", "gradient", "reductions"])
def test_programs_equal_the_reference(name):
    f, x = PROGRAMS[name], normal(8)
    assert bits(jax.tree_util.tree_leaves(sj.invariant(f)(x))) == bits(reference(f, x))


def test_the_stock_path_drifts():
    """The control: stock rows of the same network have other bits in a batch (measured with jax 0.10.2, AVX-512)."""
    rows = normal(7, 8)
    many = jax.jit(jax.vmap(wave))(rows)
    assert any(bits(many[i]) != bits(jax.jit(wave)(rows[i])) for i in range(7))


def test_gradients_inside_and_outside_agree():
    def loss(x):
        return jnp.sum(jnp.abs(wave(x)) ** 2)

    assert bits(jax.grad(sj.invariant(loss))(normal(8))) == bits(sj.invariant(jax.grad(loss))(normal(8)))


def test_double_precision():
    with jax.enable_x64(True):
        z, x = numbers(2, 33, dtype=np.complex128), normal(5, dtype=np.float64)

        def f(z):
            return z @ z.T / jnp.sqrt(z.prod()), jnp.exp(1j * x) * z[0, :5], z.astype(jnp.complex64), jnp.max(z, 1)

        assert bits(jax.tree_util.tree_leaves(sj.invariant(f)(z))) == bits(reference(f, z))
        assert sj.invariant(f)(z)[1].dtype == np.complex128


def test_parts_keep_their_bits():
    """Movement of complex values, by XLA and in programs, keeps NaN payloads and subnormals (MOVE-1)."""
    w = np.array([0xFFC12345, 1, 0x80000001, 0x7F812345], np.uint32).view(np.float32)
    z = order.complex(w, w[::-1])
    f = sj.invariant(lambda z: (z[::-1], z.conj().imag, (-z).T, lax.complex(z.imag, z.real).reshape(2, 2)[1], z + 0))
    reverse, conj, neg, swapped, _ = map(np.asarray, f(z))
    assert words.same(reverse, z[::-1])
    assert words.same(conj, order.neg(w[::-1]))
    assert words.same(neg, order.neg(z))
    assert words.same(swapped, order.complex(w[::-1], w)[2:])


def test_what_has_no_clause_is_refused():
    z = numbers(3)
    power = sj.invariant(lambda z, n: lax.pow(z, n))
    with pytest.raises(samebits.UncoveredOperation, match="complex number to an integer array's power has no clause"):
        power(z, jnp.arange(3))


@pytest.mark.parametrize("f", [
    lambda z: jnp.fft.fft(z), lambda z: jnp.linalg.solve(z, z[0]), lambda z: jnp.linalg.qr(z)[0],
    lambda z: jnp.linalg.cholesky(z @ z.conj().T + 9 * jnp.eye(5)), lambda z: jnp.linalg.eigvalsh(z + z.conj().T),
], ids=["fft", "solve", "qr", "cholesky", "eigvalsh"])  # fmt: skip
def test_batch_level(f):
    z = numbers(4, 5, 5)
    g = sj.invariant(f)
    many = jax.jit(jax.vmap(g))(z)
    assert all(bits(many[i]) == bits(g(z[i])) for i in range(4))
    np.testing.assert_allclose(g(z[0]), f(z[0]), rtol=1e-3, atol=1e-4)
    with pytest.raises(samebits.UncoveredOperation, match="batch level"):
        sj.invariant(f, level="portable")(z[0])


def test_sorting_is_by_real_then_imaginary_parts():
    z = np.append(grid(), numbers(50))
    x, y = np.real(z), np.imag(z)
    expected = np.lexsort((y, x))  # stable, NaNs last, zeros equal
    f = sj.invariant(lambda z: lax.sort((z, jnp.arange(len(z))), num_keys=1))
    ordered, index = f(z)
    assert index.tolist() == expected.tolist()
    assert words.same(np.asarray(ordered), z[expected])
    assert bits(jax.vmap(f)(jnp.stack([z, z[::-1]]))[0][0]) == bits(ordered)
