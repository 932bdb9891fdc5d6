import pytest

from xmlcore.units import beside_estimate, counted, in_seconds, in_units


@pytest.mark.parametrize(
    ("n", "text"),
    [
        (0, "0 bytes"),
        (1, "1 byte"),
        (12, "12 bytes"),
        (3500, "3.5 kB"),
        (3.5e6, "3.5 MB"),
        (999.8e6, "1,000 MB"),
        (12e9, "12 GB"),
        (1.8e12, "1,800 GB"),
    ],
)
def test_bytes_are_said_as_people_do(n, text):
    assert in_units(n) == text


def test_one_thing_is_not_counted_as_several():
    assert [counted(number, "label") for number in (0, 1, 2_000)] == ["0 labels", "1 label", "2,000 labels"]


def test_an_estimate_that_has_passed_is_told_as_passed():
    assert beside_estimate(7, 90.2) == " of about 90 s, an estimate"
    assert beside_estimate(202, 78.4) == ", longer than the estimate of 78 s"


def test_a_time_is_never_told_as_none():
    assert [in_seconds(seconds) for seconds in (0.0, 0.04, 0.1, 3.21)] == ["less than 0.1 s"] * 2 + ["0.1 s", "3.2 s"]
    assert [in_seconds(seconds, digits=2) for seconds in (0.004, 0.0123)] == ["less than 0.01 s", "0.01 s"]
