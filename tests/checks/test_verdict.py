import json

import pytest

from tsnl.checks.verdict import Report, Verdict, adjusted, by_p_value, by_shift, spoken

GOOD = Verdict("sampler", "pass", "All is well.", "", {"r_hat": 1.0})
BAD = Verdict("lag", "fail", "It is too short.", "Raise lag to 16.", {"shift": 2.0, "far": [1, 2]})


@pytest.mark.parametrize(("p", "level"), [(0.5, "pass"), (0.03, "look"), (0.001, "fail")])
def test_p_values(p, level):
    assert by_p_value(p) == level


@pytest.mark.parametrize(
    ("shift", "level"), [(0.1, "pass"), (0.7, "look"), (3.0, "fail"), (float("nan"), "fail")]
)
def test_shifts(shift, level):
    assert by_shift(shift) == level


def test_adjusted_for_their_number():
    assert adjusted([0.5, 0.01, 0.2]) == pytest.approx(0.03)
    assert adjusted(x for x in (0.9, 0.8)) == 1.0


def test_spoken():
    assert [spoken(p) for p in (1e-5, 0.0123, 0.456)] == ["p < 0.001", "p = 0.012", "p = 0.46"]


def test_report_prints_a_line_for_each_check():
    text = str(Report([GOOD, BAD], 1200))
    assert "sampler  pass  All is well." in text
    assert "lag      FAIL  It is too short. Raise lag to 16." in text
    assert text.endswith("The checks made 1,200 calls of the dynamics.")


def test_report_is_plain_data():
    report = Report([GOOD, BAD], 0)
    read = json.loads(report.to_json())
    assert read["worst"] == report.worst == "fail"
    assert read["verdicts"][1]["figures"] == {"shift": 2.0, "far": [1, 2]}
    assert report["lag"] is BAD
    assert list(report) == [GOOD, BAD]
    with pytest.raises(KeyError, match="'prior' was not checked"):
        report["prior"]
    assert Report([], 0).worst == "pass"


def test_reports_read_back():
    report = Report([GOOD, BAD], 1200)
    assert Report.from_json(report.to_json()) == report


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"verdicts": [{"name": "lag"}], "cost": 0}', '{"verdicts": 3, "cost": 0}']
)
def test_something_else_is_no_report(text):
    with pytest.raises(ValueError, match="no report of checks"):
        Report.from_json(text)


def test_unknown_verdicts(unchecked):
    text = Report([GOOD], 0).to_json().replace('"verdict": "pass"', '"verdict": "<b>"')
    with pytest.raises(ValueError, match="'<b>', expected one of"):
        Report.from_json(text)
