"""The text of each kind of refusal: primitive, dtypes and shapes, reason, the user's line, way out."""

import pickle
import re

import jax
import jax.extend.core as jex
import jax.numpy as jnp
import pytest
from jax.experimental import checkify

import samebits
import samebits.jax as sj
from samebits.jax.rules._refused import REFUSED
from tests.jax.programs import normal

_stranger = jex.Primitive("stranger")
_stranger.def_abstract_eval(lambda x: x)
OUTSIDE = "compute it outside invariant(), or compose it of "

# Name -> the program, the level asked for, and what its refusal says: the equation, the reason and the way out.
KINDS = {
    "hidden state": (
        lambda x: jax.lax.rng_uniform(x[0, 0], x[0, 1], (4,)), "batch",
        "rng_uniform (float32[], float32[] -> float32[4])", "it depends on hidden state", "use jax.random",
    ),
    "parameters that no rule covers": (
        lambda x: jax.lax.dot(x, x, precision=jax.lax.DotAlgorithmPreset.F32_F32_F32), "batch",
        "dot_general (float32[4,4], float32[4,4] -> float32[4,4])",
        "precision=F32_F32_F32 asks for another algorithm than the contract's",
        "leave precision out, or name a jax.lax.Precision",
    ),
    "batch level where portable is asked": (
        lambda x: jnp.linalg.cholesky(x), "portable",
        "cholesky (float32[4,4] -> float32[4,4])",
        "its bits hold in every batch on this machine, not on every machine (batch level)",
        "use invariant(f, level='batch')",
    ),
    "a function inside XLA": (
        lambda x: x.at[0].apply(jnp.sin), "batch",
        "scatter (float32[4,4], int32[1], float32[4] -> float32[4,4])", "it applies a function inside XLA",
        "gather, apply the function, and set the result",
    ),
    "what JAX has another way to do": (
        lambda x: checkify.check(x[0, 0] > 0, "positive"), "batch",
        "check (bool[], int32[] -> ())", "a check that may fail is no value",
        "give jax.experimental.checkify.checkify(f) to invariant(), which makes it one",
    ),
    "another library's primitive": (
        lambda x: _stranger.bind(x[0]), "batch",
        "stranger (float32[4] -> float32[4])", "samebits knows no rule for this primitive",
        OUTSIDE + "covered operations (samebits.jax.coverage lists them)",
    ),
    "inside control flow": (
        lambda x: jax.lax.scan(lambda c, a: (c, jax.lax.rng_uniform(a, a, ())), 0.0, x[0])[1], "batch",
        "rng_uniform (float32[], float32[] -> float32[])", "it depends on hidden state", "use jax.random",
    ),
}  # fmt: skip


def _refusal(name: str) -> samebits.UncoveredOperation:
    f, level = KINDS[name][:2]
    with pytest.raises(samebits.UncoveredOperation) as caught:
        sj.invariant(f, level=level)(normal(4, 4))
    return caught.value


@pytest.mark.parametrize("name", KINDS)
def test_the_text_of_a_refusal(name):
    _, _, equation, reason, way_out = KINDS[name]
    refusal = _refusal(name)
    first, where, last = str(refusal).splitlines()
    assert first == f"{equation} cannot run under the order contract: {reason}"
    assert last == f"  way out: {way_out}"
    assert re.fullmatch(rf"  --> {re.escape(__file__)}:\d+:\d+ \(.*<lambda>.*\)", where)
    assert (refusal.reason, refusal.way_out) == (reason, way_out)
    assert equation == f"{refusal.primitive} ({refusal.types})"


@pytest.mark.parametrize("name", KINDS)
def test_coverage_lists_the_same_reason(name):
    f, level, _, reason, way_out = KINDS[name]
    if level == "portable":
        assert sj.coverage(f, normal(4, 4)).level == "batch"
        return
    refused = [e for e in sj.coverage(f, normal(4, 4)).equations if e.level == "refused"]
    assert (refused[0].reason, refused[0].way_out, refused[0].clause) == (reason, way_out, "")
    assert f"{reason}; way out: {way_out}" in str(sj.coverage(f, normal(4, 4)))


def test_many_operands_are_counted():
    prim = jex.Primitive("many")
    prim.multiple_results = True
    prim.def_abstract_eval(lambda *xs: list(xs))
    with pytest.raises(
        samebits.UncoveredOperation, match=r"many \((float32\[2\], ){6}3 more -> (float32\[2\], ){6}3 m"
    ):
        sj.invariant(lambda x: prim.bind(*[x] * 9))(normal(2))


def test_a_refusal_survives_pickling():
    refusal = _refusal("hidden state")
    again = pickle.loads(pickle.dumps(refusal))
    assert str(again) == str(refusal)
    assert (again.line, again.types, again.dtypes) == (refusal.line, refusal.types, refusal.dtypes)


def test_each_reason_and_way_out_is_a_clause_of_a_sentence():
    for name, (reason, way_out) in REFUSED.items():
        assert reason, name
        assert way_out, name
        assert not reason.endswith("."), name
        assert not way_out.endswith("."), name
