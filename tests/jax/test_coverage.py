"""coverage() lists every equation with its rule, and the optimised HLO holds no float arithmetic of XLA's own."""

import json

import jax
import jax.numpy as jnp
import pytest

import samebits.jax as sj
from samebits._rules import OPERATIONS
from samebits.jax._hlo import float_arithmetic
from tests.jax.programs import looped, loss, network, normal, referenced


def test_each_equation_has_rule_clause_level_and_line():
    table = sj.coverage(network, normal(33))
    assert table.level == "portable"
    assert len(table.equations) > 20
    assert {e.clause for e in table.equations} <= {o.clause for o in OPERATIONS.values()}
    assert all(e.rule in ("native", "exact", "xla") for e in table.equations)
    assert any("programs.py" in e.line for e in table.equations)
    assert "level portable" in str(table)


def test_nested_equations_are_listed():
    table = sj.coverage(looped, normal(5))
    inner = {e.primitive for e in table.equations if e.depth == 2}
    assert {"tanh", "sin"} <= inner


def _refused(x):
    return jax.lax.rng_uniform(1 + x * x, x * x, (3,))


def test_refusals_and_batch_level_are_listed():
    assert sj.coverage(_refused, normal()).level == "refused"
    table = sj.coverage(lambda x: jnp.linalg.cholesky(x) + 1, normal(3, 3))
    assert table.level == "batch"
    assert table.totals["xla batch"] == 1
    assert sj.coverage(_refused, normal()).hlo_findings == []


def test_shapes_do_in_place_of_arrays():
    assert sj.coverage(network, jax.ShapeDtypeStruct((33,), jnp.float32)).level == "portable"


def test_totals_count_every_equation():
    table = sj.coverage(looped, normal(5))
    assert sum(table.totals.values()) == sum(table.primitives.values()) == len(table.equations)
    assert table.totals == {"xla portable": 2, "native portable": 5, "exact portable": 1}
    assert table.primitives["scan"] == 1
    assert sj.coverage(_refused, normal()).totals["refused"] == 1


def test_the_table_is_printed_in_columns():
    lines = str(sj.coverage(looped, normal(5))).splitlines()
    assert len(lines) == len(sj.coverage(looped, normal(5)).equations) + 2
    assert lines[0].split()[:4] == ["scan", "portable", "xla", "LEVEL-4"]
    assert lines[1].startswith("  gt ")
    assert "float32[], float32[] -> bool[]" in lines[1]
    assert len({line.index("portable") for line in lines[:-2]}) == 1
    assert lines[-2].startswith("level portable: ")
    assert lines[-1].startswith("primitives: ")
    assert str(sj.coverage(lambda x: x, 1.0)) == "level portable: no equations\nprimitives: no equations"


def test_the_table_as_json():
    table = json.loads(json.dumps(sj.coverage(_refused, normal()).to_dict()))
    assert table["level"] == "refused"
    assert table["primitives"] == {"mul": 2, "add": 1, "rng_uniform": 1}
    refused = table["equations"][-1]
    assert refused["types"] == "float32[], float32[] -> float32[3]"
    assert "hidden state" in refused["reason"]


def test_references_of_its_own_are_values():
    """JAX turns them into values before anything is rewritten, and the report says what is left."""
    table = sj.coverage(referenced, normal(5))
    assert table.level == "portable"
    assert {"exp", "add", "div"} <= table.primitives.keys()


@pytest.mark.parametrize("f", [
    network, looped, jax.vmap(jax.grad(loss), (None, 0)),
    lambda x: jnp.where(x > 0, x, 0).astype(jnp.bfloat16).sum(), lambda x: (jnp.argmax(x), jnp.isfinite(x), -x.max()),
    lambda x: x.astype(jnp.int32).astype(jnp.float32), lambda x: jnp.sort(jnp.abs(x)), lambda x: jnp.arange(33.0) * x,
    lambda x: x.astype(jnp.float16) * 2,
], ids=["network", "looped", "gradient", "bf16 sum", "comparisons", "conversions", "sort", "iota", "f16"])  # fmt: skip
def test_no_float_arithmetic_is_left_in_the_optimised_hlo(f):
    x = normal(33)
    args = (normal(33, 4), normal(6, 33)) if f.__name__ == "loss" else (x,)
    assert sj.coverage(f, *args).hlo_findings == []


def test_the_scan_of_hlo_sees_what_stock_leaves():
    """Negative control: the same look at the stock program finds its arithmetic."""
    text = jax.jit(network).lower(normal(33)).compile().as_text() or ""
    found = float_arithmetic(text)
    assert len([f for f in found if f.startswith("f32")]) > 3
    text = jax.jit(lambda x: x > 0).lower(normal(33)).compile().as_text() or ""
    assert float_arithmetic(text) == ["f32 compare"]
