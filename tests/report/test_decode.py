"""Reports from what they were written as."""

import json

import jax.numpy as jnp
import pytest
from hypothesis import given, strategies as st

import samebits
from samebits.report import Report
from tests.report.reports import endless, everything


@pytest.mark.parametrize("make", [everything, endless])
def test_there_and_back(make):
    report = make()
    assert Report.from_dict(report.to_dict()) == report
    assert Report.from_dict(json.loads(report.to_json())) == report


def test_a_real_report():
    report = samebits.audit(lambda x: x - x.mean(), jnp.arange(12.0).reshape(6, 2), sizes=(1, 3))
    again = Report.from_dict(json.loads(report.to_json()))
    assert again == report
    assert repr(again) == repr(report)
    assert again.axes[0].worst is not None
    assert again.axes[0].worst.entries


def test_older_reports_lack_fields_that_have_a_default():
    data = everything().to_dict()
    del data["trees"], data["axes"][0]["worst"]["entries"]
    assert Report.from_dict(data).trees == ()


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"verdict": "fine"}, r"report.verdict is 'fine', no one of 'holds'"),
        ({"rows": "3"}, "report.rows is '3', no int"),
        ({"rows": True}, "report.rows is True, no int"),
        ({"seconds": 10**400}, "report.seconds is 1000.*too large"),
        ({"axes": [{}]}, r"report.axes\[0\] lacks name"),
        ({"axes": 3}, "report.axes is 3"),
        ({"versions": {"jax": 1}}, r"report.versions\['jax'\] is 1, no str"),
        ({"trees": [{"label": "", "size": 1, "terms": 2, "joins": [[0, 1]]}]}, r"report.trees\[0\].joins\[0\]"),
        ({"more": 1}, "report has 'more', which no Report has"),
        ({"first": []}, r"report.first is \[\], no object"),
    ],
)
def test_other_data_is_refused_with_its_place(change, says):
    with pytest.raises(ValueError, match=says):
        Report.from_dict({**everything().to_dict(), **change})


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(st.sampled_from(sorted(everything().to_dict())), values)
def test_hostile_data_is_read_or_refused(name, value):
    try:
        report = Report.from_dict({**everything().to_dict(), name: value})
    except ValueError:
        return
    repr(report)
