"""What samebits.audit says about programs whose nature is known."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import samebits
from samebits._audit import AuditError
from tests.audit import programs as p

QUICK: dict[str, Any] = dict(sizes=(1, 3, 7))


def drifts(fn, x):
    """Whether this machine shows any drift of a function of one row under vmap: the negative control."""
    mapped = np.asarray(jax.jit(jax.vmap(fn))(x))
    return any(np.asarray(jax.jit(fn)(x[i])).tobytes() != mapped[i].tobytes() for i in range(len(x)))


def axis(report, name):
    return next(a for a in report.axes if a.name == name)


def worst(report, name):
    found = axis(report, name).worst
    assert found is not None
    return found


def place(report):
    assert report.first is not None
    return report.first


@pytest.mark.parametrize("fn", [p.polynomial, p.indexed])
def test_rows_for_themselves_hold(fn):
    report = samebits.audit(fn, p.normal(p.ROWS, 5), **QUICK)
    assert report.verdict == "holds"
    assert report.first is None
    assert [a.name for a in report.axes] == ["batch size", "position", "content", "eager", "repeat"]


@pytest.mark.parametrize("fn", [p.leak_plain, p.leak_scalar, p.first_row])
def test_content_leaks(fn):
    report = samebits.audit(fn, p.normal(p.ROWS, 5), **QUICK)
    assert report.verdict == "leak"
    assert axis(report, "content").status == "leak"
    assert (place(report).line, place(report).file) == (p.line_of(fn), p.__file__)


def test_a_key_by_index_leaks_although_no_content_does():
    report = samebits.audit(p.leak_key_by_index, p.normal(7, 5), sizes=(3,), axes=("position", "content"))
    assert report.verdict == "leak"
    assert axis(report, "content").status == "holds"
    assert axis(report, "position").status == "leak"
    assert place(report).line == p.line_of(p.leak_key_by_index)


def test_a_dependence_on_the_size_leaks_although_neither_content_nor_order_does():
    report = samebits.audit(p.leak_by_size, p.normal(p.ROWS, 5), **QUICK)
    assert report.verdict == "leak"
    assert {a.name for a in report.axes if a.status == "leak"} == {"batch size"}


def test_vmapped_dot_is_rounding_and_named():
    x = p.normal(64, 48)
    if not drifts(p.linear, x):
        pytest.skip("vmap(W @ x) has the bits of the single call on this machine")
    report = samebits.audit(p.linear, x, per_example=True, sizes=(1, 7))
    assert report.verdict == "rounding"
    assert axis(report, "single call").status == "rounding"
    assert (worst(report, "single call").ulp or 0) > 0
    assert place(report).operation == "dot_general"
    assert place(report).function == "linear"


def test_magnified_rounding_is_amplified_and_not_a_leak():
    x = jnp.abs(p.normal(64, 48)) % 1
    if not drifts(p.chaotic, x):
        pytest.skip("the sum of W @ x has the bits of the single call on this machine")
    report = samebits.audit(p.chaotic, x, per_example=True, sizes=(7,), axes=("content", "single"))
    assert report.verdict == "amplified"
    assert place(report).line == p.line_of(p.chaotic)


def test_the_same_of_a_function_of_the_batch_is_shown_by_nudged_inputs():
    x = jnp.abs(p.normal(16, 48)) % 1
    if not drifts(p.chaotic, x):
        pytest.skip("the sum of W @ x has the bits of the single call on this machine")
    report = samebits.audit(jax.vmap(p.chaotic), x, sizes=(1,), axes=("size",))
    assert report.verdict == "amplified"


def test_tokens_are_judged_by_the_weights():
    table = p.normal(50, 48, seed=3)
    tokens = jnp.asarray(np.random.default_rng(0).integers(0, 50, 64), jnp.int32)

    def fn(token):
        return p.chaotic(jnp.abs(table[token]) % 1)

    if not drifts(fn, tokens):
        pytest.skip("no drift on this machine")
    report = samebits.audit(jax.vmap(fn), tokens, sizes=(1,), axes=("size",))
    assert report.verdict == "amplified"


def test_a_counter_is_nondeterministic():
    count = iter(range(10**6))

    def fn(x):
        step = jax.pure_callback(lambda: np.float32(next(count)), jax.ShapeDtypeStruct((), jnp.float32))
        return x + step

    report = samebits.audit(fn, p.normal(4, 2), axes=("repeat",))
    assert report.verdict == "nondeterministic"


def test_integer_and_bool_outputs_have_no_rounding():
    def fn(x):
        return jnp.sum(x > x.mean(), axis=1), x > 0

    report = samebits.audit(fn, p.normal(p.ROWS, 5), **QUICK)
    assert report.verdict == "leak"
    assert worst(report, "content").output == "[0]"


@dataclass
class Plain:
    box: jax.Array
    tag: jax.Array


class Named(NamedTuple):
    box: jax.Array
    tag: jax.Array


@pytest.mark.parametrize("make", [dict, Plain, Named])
@pytest.mark.parametrize("per_example", [False, True])
def test_batches_of_many_leaves(make, per_example):
    batch = make(box=p.normal(p.ROWS, 3), tag=jnp.arange(p.ROWS))

    def fn(d):
        box, tag = (d["box"], d["tag"]) if make is dict else (d.box, d.tag)
        return make(box=box * 2, tag=tag + 1)

    report = samebits.audit(fn, batch, per_example, **QUICK)
    assert report.verdict == "holds"


def test_random_keys_as_a_leaf():
    batch = {"key": jax.random.split(jax.random.key(3), p.ROWS), "x": p.normal(p.ROWS, 4)}
    fn = jax.vmap(lambda d: d["x"] + jax.random.uniform(d["key"], (4,)))
    assert samebits.audit(fn, batch, sizes=(3,), axes=("size", "position", "content")).verdict == "holds"


def test_bfloat16():
    report = samebits.audit(lambda x: x - x.mean(), p.normal(p.ROWS, 5, dtype=jnp.bfloat16), **QUICK)
    assert report.verdict == "leak"
    assert axis(report, "batch size").limit == pytest.approx(8 * 2**-7)


def test_a_function_that_looks_at_values_is_run_eagerly():
    def fn(x):
        return x * 2 if float(x[0, 0]) > 1e9 else x + 1

    report = samebits.audit(fn, p.normal(p.ROWS, 5), **QUICK)
    assert (report.verdict, report.mode) == ("holds", "eager")
    assert any("run eagerly" in n for n in report.notes)
    assert axis(report, "eager").status == "not run"


def test_an_output_without_rows_is_named_and_left_out():
    report = samebits.audit(lambda x: (x * 2, x.mean()), p.normal(p.ROWS, 5), **QUICK)
    assert report.verdict == "holds"
    assert any("[1] (float32[])" in n for n in report.notes)


def test_a_size_at_which_the_function_fails_is_a_note():
    def fn(x):
        return x.reshape(-1, 4, 5).reshape(-1, 5)

    report = samebits.audit(fn, p.normal(12, 5), sizes=(1, 4, 8))
    assert report.verdict == "holds"
    assert any(n.startswith("does not run on 1 rows") for n in axis(report, "batch size").notes)


def test_limit_and_axes_are_the_callers():
    x = p.normal(p.ROWS, 5)
    report = samebits.audit(lambda v: v / v.shape[0], x, axes=("size",), sizes=(1,), limit=1e9)
    assert report.verdict == "rounding"
    assert [a.name for a in report.axes] == ["batch size"]


def test_progress_comes_in_order():
    seen = []
    samebits.audit(p.polynomial, p.normal(4, 2), progress=lambda done, text: seen.append((done, text)))
    done = [d for d, _ in seen]
    assert done == sorted(done)
    assert 0 <= done[0]
    assert done[-1] <= 1
    assert seen[0][1] == "compiling"


BAD = {
    "no function": (3, jnp.ones((4, 2)), "not a function: 3"),
    "numpy function": (np.sin, jnp.ones((4, 2)), "is not a JAX function: given JAX arrays it returned numpy.ndarray"),
    "empty tree": (p.polynomial, {}, "the batch is empty: {}"),
    "no rows": (p.polynomial, jnp.ones((0, 2)), "the batch is empty (x: float32[0, 2])"),
    "one row": (p.polynomial, jnp.ones((1, 2)), "has one row"),
    "two lengths": (
        lambda d: d["a"],
        {"a": jnp.ones((4, 2)), "b": jnp.ones(5)},
        "without a common leading axis: ['a']: float32[4, 2], ['b']: float32[5]",
    ),
    "scalar": (lambda d: d["a"], {"a": jnp.ones((4, 2)), "t": jnp.float32(1)}, "['t'] is a scalar"),
    "text": (lambda d: d["a"], {"a": jnp.ones((4, 2)), "t": "blue"}, "is no array but str: 'blue'"),
    "loss": (jnp.mean, jnp.ones((4, 2)), "no output has a row for each of the 4 rows"),
    "nothing": (lambda x: None, jnp.ones((4, 2)), "returned no arrays"),
    "raises": (
        lambda x: x @ jnp.ones((7, 7)),
        jnp.ones((4, 2)),
        "raised TypeError while running on the batch of 4 rows",
    ),
}


@pytest.mark.parametrize(("fn", "batch", "message"), BAD.values(), ids=BAD.keys())
def test_bad_input_says_what_and_the_way_out(fn, batch, message):
    with pytest.raises(AuditError) as e:
        samebits.audit(fn, batch)
    assert message in str(e.value)
    assert "\n  way out: " in str(e.value)
    assert isinstance(e.value, ValueError)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (dict(sizes=(0,)), "each must be a whole number from 1 to 4"),
        (dict(sizes=()), "each must be a whole number from 1 to 4"),
        (dict(axes=("height",)), "choose from size, position, content, single, eager, repeat"),
        (dict(limit=-1), "must be 0 or a positive number"),
    ],
)
def test_bad_options(options, message):
    with pytest.raises(AuditError, match=message):
        samebits.audit(p.polynomial, jnp.ones((4, 2)), **options)
