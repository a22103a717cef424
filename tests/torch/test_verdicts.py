"""samebits.audit on PyTorch functions: verdicts, lines, and what it leaves as it was."""

import numpy as np
import pytest

import samebits
from samebits._audit import AuditError

torch = pytest.importorskip("torch")

from samebits.torch._constants import closed_over  # noqa: E402
from tests.torch import programs as p  # noqa: E402


@pytest.mark.parametrize("fn", [p.leak_plain, p.leak_buffer, p.leak_backward], ids=lambda f: f.__name__)
def test_leaks(fn):
    report = samebits.audit(fn, p.normal(12, 6))
    assert report.verdict == "leak"
    assert report.framework == "torch"
    assert report.first is not None
    assert report.first.line == p.line_of(fn)


@pytest.mark.parametrize("fn", [p.polynomial, p.one_by_one, p.gradient], ids=lambda f: f.__name__)
def test_rows_for_themselves(fn):
    report = samebits.audit(fn, p.normal(12, 6))
    assert report.verdict == "holds"
    assert report.first is None


@pytest.mark.parametrize("fn", [p.noisy, p.stateful], ids=lambda f: f.__name__)
def test_not_the_same_twice(fn):
    report = samebits.audit(fn, p.normal(12, 6))
    assert report.verdict == "nondeterministic"
    assert report.first is not None
    assert report.first.line == p.line_of(fn)


def test_a_function_of_one_row_is_mapped():
    report = samebits.audit(lambda row: row * row.amax(), p.normal(9, 6), per_example=True)
    assert report.verdict == "holds"
    assert report.form == "mapped"


def test_a_function_that_cannot_be_mapped_says_so():
    with pytest.raises(AuditError, match="vmap cannot map"):
        samebits.audit(lambda row: row * row.amax().item(), p.normal(9, 6), per_example=True)


def test_a_batch_of_a_dict_with_labels_and_a_module():
    model = torch.nn.Linear(6, 3).double().eval()
    weights = model.weight.detach().clone()

    def fn(batch):
        return {"y": batch["x"] * 2, "label": batch["label"] + 1}, model.weight.sum() + 0

    batch = {"x": p.normal(9, 6), "label": torch.arange(9), "mask": np.arange(9) > 4}
    assert samebits.audit(fn, batch).verdict == "holds"
    assert torch.equal(weights, model.weight)
    assert not model.training


def test_a_function_that_changes_its_argument_leaves_the_batch():
    x = p.normal(9, 6)
    before = x.clone()
    assert samebits.audit(lambda v: v.mul_(2), x).verdict == "holds"
    assert torch.equal(x, before)


def test_the_generator_is_not_seeded():
    torch.manual_seed(3)
    expected = torch.rand(4)
    torch.manual_seed(3)
    samebits.audit(p.polynomial, p.normal(9, 6))
    assert torch.equal(torch.rand(4), expected)


def test_a_jax_function_stays_with_jax():
    jnp = pytest.importorskip("jax.numpy")
    report = samebits.audit(lambda x: x * 2, jnp.ones((4, 3)))
    assert report.framework == "jax"


def test_there_is_no_invariant_yet():
    from samebits.torch._frontend import frontend

    with pytest.raises(AuditError, match="no invariant"):
        frontend.invariant(p.polynomial)


def test_what_a_function_closes_over():
    layer = torch.nn.Linear(2, 2)
    assert {id(t) for t in closed_over(lambda x: layer(x) + p.W)} >= {id(layer.weight), id(layer.bias), id(p.W)}
    assert closed_over(p.polynomial) == []
