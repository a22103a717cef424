"""The published schema of a report is that of the dataclasses, and reports follow it."""

import json

import jax.numpy as jnp
import jsonschema
import pytest

import samebits
from dev.schema import PAGE, schema
from tests.report.reports import endless, everything


def test_the_page_is_current():
    assert json.loads(PAGE.read_text()) == schema()


@pytest.mark.parametrize("make", [everything, endless])
def test_reports_follow_it(make):
    jsonschema.validate(json.loads(make().to_json()), schema())


def test_a_real_report_follows_it():
    report = samebits.audit(lambda x: x - x.mean(), jnp.arange(12.0).reshape(6, 2), sizes=(1, 3))
    jsonschema.validate(json.loads(report.to_json()), schema())


@pytest.mark.parametrize("change", [{"verdict": "fine"}, {"rows": "3"}, {"more": 1}, {"axes": [{}]}])
def test_others_do_not(change):
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**json.loads(everything().to_json()), **change}, schema())
