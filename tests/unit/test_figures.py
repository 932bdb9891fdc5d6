"""The figures draw what they are given: heights, cuts, names and shares, and nothing but vectors."""

import numpy as np
import pytest

from xmlcore import figures
from xmlcore.figures import RIDGE, RIDGE_PS, grouped_bars, head_torso_tail_lines, label_frequencies, share_bars


def trace_of(figure, name):
    return next(trace for trace in figure.data if trace.name == name)


def profile(n_labels):
    counts = np.random.default_rng(0).permutation(np.arange(n_labels) // 3 + 1)
    return counts, [f"label {label}" for label in range(n_labels)]


def test_bars_have_the_heights_that_are_given_and_the_held_setting_is_an_outline_over_the_same_variant():
    heights = {RIDGE: np.array([1.0, 2.5]), RIDGE_PS: np.array([1.5, 2.0])}
    figure = grouped_bars(["1", "2–3"], heights, x_title="x", y_title="y", held={RIDGE: np.array([9.0, 9.0])})
    assert figure.layout.xaxis.type == "category"  # these names look like numbers, by which Plotly would place them
    for name, values in heights.items():
        np.testing.assert_array_equal(trace_of(figure, name).y, values)
    ghost = trace_of(figure, f"{RIDGE}, held")
    assert ghost.offsetgroup == trace_of(figure, RIDGE).offsetgroup
    assert ghost.marker.color == "rgba(0,0,0,0)"


def test_every_seen_label_is_drawn_with_its_own_name_and_frequency():
    counts = np.array([0, 7, 1, 30, 7])
    (points,) = label_frequencies(counts, ["unseen", "b", "c", "most", "e"]).data
    assert list(points.customdata) == ["most", "b", "e", "c"]
    assert list(points.y) == [30, 7, 7, 1]
    assert list(points.x) == [1, 2, 3, 4]


@pytest.mark.parametrize("n_labels", [figures.MOST_POINTS, figures.MOST_POINTS + 1, 35_515, 670_091])
def test_a_long_profile_keeps_its_head_its_last_label_and_a_bounded_number_of_points(n_labels):
    counts, names = profile(n_labels)
    (points,) = label_frequencies(counts, names).data
    assert len(points.x) <= figures.MOST_POINTS
    half = figures.MOST_POINTS // 2
    assert list(points.x[:half]) == list(range(1, half + 1))
    assert points.x[-1] == n_labels
    assert (np.diff(points.x) > 0).all()
    assert (np.diff(np.log10(points.x[half:])) < 0.01).all()  # no gap that could be seen
    drawn = [int(name.split()[1]) for name in points.customdata]
    np.testing.assert_array_equal(counts[drawn], points.y)


def test_the_cuts_are_lines_at_their_frequencies_over_all_ranks_and_say_so_at_the_same_height():
    counts, names = profile(300)
    figure = head_torso_tail_lines(counts, names, tail_below=10, head_from=50)
    lines = [trace for trace in figure.data if trace.mode == "lines"]
    assert sorted(tuple(line.y) for line in lines) == [(10, 10), (50, 50)]
    assert all(tuple(line.x) == (1, 300) for line in lines)
    for note in figure.layout.annotations:
        assert any(f"{cut}" in note.text and 10**note.y == pytest.approx(cut) for cut in (10, 50))


def test_cuts_can_be_drawn_where_no_label_was_seen_in_training():
    assert head_torso_tail_lines(np.zeros(3, dtype=int), ["a", "b", "c"], 1, 1).data


def test_each_percentage_stands_over_its_bar_or_over_the_held_outline_where_that_is_higher():
    shares = {RIDGE: np.array([0.5, 19.5, 80.0]), RIDGE_PS: np.array([2.0, 28.0, 70.0])}
    held = {RIDGE: np.array([1.5, 19.5, 79.0]), RIDGE_PS: np.array([1.0, 29.0, 70.0])}
    figure = share_bars(["tail", "torso", "head"], shares, x_title="x", y_title="y", held=held)
    assert list(trace_of(figure, RIDGE).text) == ["", "19.50", "80.00"]
    assert list(trace_of(figure, f"{RIDGE}, held").text) == ["0.50", "", ""]
    assert list(trace_of(figure, RIDGE_PS).text) == ["2.00", "", "70.00"]
    assert list(trace_of(figure, f"{RIDGE_PS}, held").text) == ["", "28.00", ""]
    assert figure.layout.yaxis.range[1] > 80


def test_percentages_are_written_without_a_held_setting_too():
    figure = share_bars(["tail", "head"], {RIDGE: np.array([0.0, 100.0])}, x_title="x", y_title="y")
    assert list(trace_of(figure, RIDGE).text) == ["0.00", "100.00"]


def test_a_figure_has_axis_titles_and_only_vector_marks():
    counts, names = profile(40)
    for figure in (
        label_frequencies(counts, names),
        head_torso_tail_lines(counts, names, 3, 9),
        share_bars(["a"], {RIDGE: np.array([100.0])}, x_title="x", y_title="y"),
        grouped_bars(["a"], {RIDGE: np.array([1.0])}, x_title="x", y_title="y"),
    ):
        assert figure.layout.xaxis.title.text
        assert figure.layout.yaxis.title.text
        assert not any(trace.type.endswith("gl") for trace in figure.data)
