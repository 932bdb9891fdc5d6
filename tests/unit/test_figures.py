"""The figures draw what they are given: heights, cuts, names and shares, and nothing but vectors."""

from functools import partial

import numpy as np
import pytest

from xmlcore.analysis import frequency_bins
from xmlcore.figures import (
    HELD,
    RIDGE,
    RIDGE_PS,
    Curve,
    curves,
    grouped_bars,
    system_bars,
    tradeoff,
)
from xmlcore.figures_axes import LEAST_POINTS, category_axis, log_axis, percent_range
from xmlcore.figures_data import labels_per_instance, pair_bars
from xmlcore.figures_frequencies import MOST_POINTS, head_torso_tail_lines, label_frequencies


def trace_of(figure, name):
    return next(trace for trace in figure.data if trace.name == name)


def outline_of(figure, variant):
    return next(trace for trace in figure.data if trace.name == HELD and trace.offsetgroup == variant)


def profile(n_labels):
    counts = np.random.default_rng(0).permutation(np.arange(n_labels) // 3 + 1)
    return counts, [f"label {label}" for label in range(n_labels)]


def test_bars_have_the_heights_that_are_given_and_the_held_setting_is_an_outline_over_the_same_variant():
    heights = {RIDGE: np.array([1.0, 2.5]), RIDGE_PS: np.array([1.5, 2.0])}
    held = {RIDGE: np.array([9.0, 9.0]), RIDGE_PS: np.array([8.0, 8.0])}
    figure = grouped_bars(["1", "2–3"], heights, x_title="x", y_title="y", held=held)
    assert figure.layout.xaxis.type == "category"  # these names look like numbers, by which Plotly would place them
    for name, values in heights.items():
        np.testing.assert_array_equal(trace_of(figure, name).y, values)
    for name, values in held.items():
        ghost = outline_of(figure, name)
        np.testing.assert_array_equal(ghost.y, values)
        assert ghost.offsetgroup == trace_of(figure, name).offsetgroup
        assert ghost.marker.color == "rgba(0,0,0,0)"
        assert ghost.hovertemplate.startswith(f"{name}, held<br>")


def test_the_outlines_of_a_held_setting_have_one_name_in_the_legend_that_is_no_variants():
    heights = {RIDGE: np.array([1.0]), RIDGE_PS: np.array([2.0])}
    figure = grouped_bars(["1"], heights, x_title="x", y_title="y", held=heights)
    assert [trace.name for trace in figure.data if trace.showlegend is not False] == [RIDGE, RIDGE_PS, "held setting"]


@pytest.mark.parametrize("counts", [[6, 9, 15], [3], [0, 0], [1, 10_141]])
@pytest.mark.parametrize("cuts", [None, (5, 300)])
def test_frequencies_have_ticks_on_the_axis_where_they_lie_and_all_of_them_and_the_cuts_are_on_it(counts, cuts):
    names = [f"label {at}" for at in range(len(counts))]
    figure = (
        head_torso_tail_lines(np.array(counts), names, *cuts) if cuts else label_frequencies(np.array(counts), names)
    )
    axis = figure.layout.yaxis
    low, high = axis.range
    seen = [*filter(None, counts), *(cuts or ())]
    assert all(low <= np.log10(value) <= high for value in seen)
    assert sum(low <= np.log10(tick) <= high for tick in axis.tickvals) >= 2


def test_every_seen_label_is_drawn_with_its_own_name_and_frequency():
    counts = np.array([0, 7, 1, 30, 7])
    (points,) = label_frequencies(counts, ["unseen", "b", "c", "most", "e"]).data
    assert list(points.customdata) == ["most", "b", "e", "c"]
    assert points.hovertemplate.startswith("%{customdata}<br>rank: %{x:,}, training instances: %{y:,}<")
    assert list(points.y) == [30, 7, 7, 1]
    assert list(points.x) == [1, 2, 3, 4]


@pytest.mark.parametrize("n_labels", [MOST_POINTS, MOST_POINTS + 1, 35_515, 670_091])
def test_a_long_profile_keeps_its_head_its_last_label_and_a_bounded_number_of_points(n_labels):
    counts, names = profile(n_labels)
    (points,) = label_frequencies(counts, names).data
    assert len(points.x) <= MOST_POINTS
    half = MOST_POINTS // 2
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
    figure = grouped_bars(["tail", "torso", "head"], shares, x_title="x", y_title="y", held=held, numbered=True)
    assert list(trace_of(figure, RIDGE).text) == ["", "19.50", "80.00"]
    assert list(outline_of(figure, RIDGE).text) == ["0.50", "", ""]
    assert list(trace_of(figure, RIDGE_PS).text) == ["2.00", "", "70.00"]
    assert list(outline_of(figure, RIDGE_PS).text) == ["", "28.00", ""]
    assert figure.layout.yaxis.range[1] > 80


def test_heights_are_written_where_they_are_asked_for():
    heights = {RIDGE: np.array([0.5, 43.86])}
    plain, numbered = (grouped_bars(["1", "2"], heights, x_title="x", y_title="y", numbered=n) for n in (False, True))
    assert trace_of(plain, RIDGE).text is None
    assert trace_of(numbered, RIDGE).text == ("0.50", "43.86")
    assert numbered.layout.yaxis.range[1] > 45


def test_a_hundred_percent_is_no_wider_than_other_numbers_above_bars():
    """Of 240 pixels, as beside the points on Head and tail, two of "100.00" would be read as one number."""
    shares = {RIDGE: np.array([100.0, 0.0]), RIDGE_PS: np.array([99.999, 0.004])}
    figure = grouped_bars(["tail", "head"], shares, x_title="x", y_title="y", numbered=True)
    assert trace_of(figure, RIDGE).text == ("100", "0.00")
    assert trace_of(figure, RIDGE_PS).text == ("100", "0.00")


def test_a_figure_has_axis_titles_and_only_vector_marks():
    counts, names = profile(40)
    for figure in (label_frequencies(counts, names), head_torso_tail_lines(counts, names, 3, 9)):
        assert figure.layout.xaxis.title.text == "Label, by rank of frequency"
        assert figure.layout.yaxis.title.text == "Training instances"
        assert not any(trace.type.endswith("gl") for trace in figure.data)


ONE = np.ones(1)
TITLED = {
    "grouped_bars": partial(grouped_bars, ["a"], {RIDGE: ONE}),
    "system_bars": partial(system_bars, ["P@1"], {RIDGE: ONE, "another": ONE}),
    "curves": partial(curves, [Curve(RIDGE, ONE, ONE, "test")]),
    "tradeoff": partial(tradeoff, ONE, ONE, ["a setting"], np.array([0])),
}


@pytest.mark.parametrize("made", TITLED.values(), ids=TITLED)
def test_a_figure_has_the_axis_titles_that_are_given_and_only_vector_marks(made):
    figure = made(x_title="what x is", y_title="what y is")
    assert (figure.layout.xaxis.title.text, figure.layout.yaxis.title.text) == ("what x is", "what y is")
    assert not any(trace.type.endswith("gl") for trace in figure.data)


def test_a_curve_that_is_held_out_is_dashed_with_open_marks_in_its_variants_colour():
    lines = [Curve(RIDGE_PS, ONE, ONE, rows, dashed=rows == "held out") for rows in ("test", "held out")]
    test, held_out = curves(lines, x_title="x", y_title="y").data
    assert (test.line.dash, held_out.line.dash) == ("solid", "dash")
    assert (test.marker.symbol, held_out.marker.symbol) == ("diamond", "diamond-open")
    assert test.line.color == held_out.line.color


NAMES = ("cat <b> & co", "<script>x</script>", "&lt;", "%{y}", 'a "quoted" name')
SHOWN = ("cat &lt;b&gt; &amp; co", "&lt;script&gt;x&lt;/script&gt;", "&amp;lt;", "%{y}", 'a "quoted" name')


def test_names_are_shown_as_they_are_and_not_as_the_html_that_plotly_would_read():
    ones = np.ones(len(NAMES))
    (points,) = label_frequencies(np.arange(5, 0, -1), NAMES).data
    assert points.customdata == SHOWN
    dots, line, *_ = tradeoff(ones, ones, NAMES, np.arange(len(NAMES)), x_title="x", y_title="y").data
    assert dots.customdata == line.customdata == SHOWN
    systems = system_bars(NAMES, dict.fromkeys(NAMES, ones), x_title="x", y_title="y")
    assert tuple(trace.name for trace in systems.data) == systems.layout.xaxis.ticktext == SHOWN
    assert all(trace.customdata == SHOWN and "%{y}<br>" not in trace.hovertemplate for trace in systems.data)
    pairs = pair_bars([NAMES[:2]], np.array([9]), ["together on 5 & more"], x_title="x")
    assert pairs.layout.yaxis.ticktext == (f"{SHOWN[0]} +<br>{SHOWN[1]}",)
    assert pairs.data[0].customdata == (f"{SHOWN[0]} + {SHOWN[1]}<br>together on 5 &amp; more",)


def test_names_are_cut_and_given_room_by_the_characters_that_are_shown():
    plain, marked = ("x" * 80, "x" * 24), ("<" * 80, "<" * 24)
    figures_of = [pair_bars([names], np.array([9]), [""], x_title="x") for names in (plain, marked)]
    assert figures_of[1].layout.yaxis.ticktext == (f"{'&lt;' * 23}… +<br>{'&lt;' * 24}",)
    assert figures_of[0].layout.margin.l == figures_of[1].layout.margin.l
    bars = [grouped_bars(names, {RIDGE: np.ones(2)}, x_title="x", y_title="y") for names in (plain, marked)]
    assert bars[1].layout.xaxis.ticktext == (f"{'&lt;' * 27}…", "&lt;" * 24)
    assert bars[0].layout.margin.b == bars[1].layout.margin.b


def bin_axis(largest, kind):
    names = frequency_bins(np.arange(largest + 1), kind).names
    figure = grouped_bars(names, {RIDGE: np.ones(len(names))}, x_title="x", y_title="y")
    return names, figure.layout.xaxis, figure


@pytest.mark.parametrize("kind", ["twos", "tens", "shares"])
@pytest.mark.parametrize("largest", [1, 9, 700, 8_000, 20_000, 300_000])
def test_every_bin_is_named_and_no_margin_is_left_to_the_browser(kind, largest):
    names, axis, figure = bin_axis(largest, kind)
    assert list(axis.tickvals) == list(names)
    assert [text.replace("<br>", "") for text in axis.ticktext] == list(names)
    assert axis.tickangle in (0, -90)
    assert axis.automargin is False
    longest = max(len(line) for text in axis.ticktext for line in text.split("<br>"))
    assert figure.layout.margin.b >= 40 + (5 * longest if axis.tickangle else 15)
    for trace in figure.data:  # where an axis breaks a name, the hover has it whole
        assert list(trace.customdata) == list(names)
        assert "%{customdata}" in trace.hovertemplate


@pytest.mark.parametrize(
    ("largest", "kind", "angle", "last"),
    [
        (8_000, "tens", 0, "1,000–9,999"),
        (20_000, "tens", 0, "10,000–<br>99,999"),
        (20_000, "twos", -90, "16,384–32,767"),
    ],
)
def test_names_stand_in_one_line_where_there_is_room_then_in_two_then_upright(largest, kind, angle, last):
    _, axis, _ = bin_axis(largest, kind)
    assert (axis.tickangle, axis.ticktext[-1]) == (angle, last)


def test_names_with_lines_of_their_own_are_not_turned():
    axis, below = category_axis(["tail<br>34,632 labels", "torso<br>821 labels", "head<br>62 labels"], "x")
    assert axis["tickangle"] == 0
    assert below > category_axis(["tail", "head"], "x")[1]


def test_a_name_too_long_to_be_turned_is_cut():
    axis, below = category_axis(["a" * 80, "b" * 80, "c"], "x")
    assert axis["ticktext"][0].endswith("…")
    assert below < 250


@pytest.mark.parametrize(
    ("low", "high", "texts"),
    [
        (0.1, 100, ["0.1", "0.2", "0.5", "1", "2", "5", "10", "20", "50", "100"]),
        (0.0078, 737, ["0.01", "0.1", "1", "10", "100"]),
        (1, 9_000, ["1", "10", "100", "1,000"]),
        (3, 4, ["2", "5", "10"]),
        (1e-6, 1e8, ["1e-6", "0.001", "1", "1,000", "1,000,000"]),
        (1e6, 5e7, ["1,000,000", "2e6", "5e6", "1e7", "2e7", "5e7"]),
    ],
)
def test_ticks_of_a_logarithmic_axis_are_plain_numbers(low, high, texts):
    axis = log_axis(low, high)
    assert axis["ticktext"] == texts
    np.testing.assert_allclose(axis["tickvals"], [float(text.replace(",", "")) for text in texts])


def test_curves_are_drawn_over_the_known_range_from_their_first_point_on():
    first = [Curve(RIDGE, np.array([3.0]), np.array([44.87]), "test"), Curve(RIDGE, np.array([]), np.array([]), "held")]
    whole = [Curve(RIDGE, np.array([0.01, 3.0, 700]), np.array([44.6, 44.87, 43.9]), "test"), first[1]]
    drawn = [
        curves(lines, x_title="λ", y_title="P@5 (%)", current={RIDGE: (3.0, 44.87)}, x_range=(0.01, 700))
        for lines in (first, whole)
    ]
    for figure in drawn:
        layout = figure.layout
        assert layout.xaxis.range == drawn[0].layout.xaxis.range
        assert 10 ** layout.xaxis.range[0] < 0.01
        assert 10 ** layout.xaxis.range[1] > 700
        assert layout.yaxis.range[1] - layout.yaxis.range[0] >= LEAST_POINTS
        assert layout.showlegend
        assert list(trace_of(figure, f"{RIDGE}, held").x) == [None]  # in the legend, without points yet


def test_curves_without_anything_to_draw_and_a_setting_out_of_their_range_can_be_drawn():
    assert curves([], x_title="x", y_title="y").layout.yaxis.range is None
    far = curves([], x_title="x", y_title="y", current={RIDGE: (1e4, 3.0)}, x_range=(0.1, 100))
    assert 10 ** far.layout.xaxis.range[1] > 1e4


@pytest.mark.parametrize(
    "values", [[0.0], [44.87], [99.255, 99.275], [100.0, 100.2], [0.0, 60.0], [12.0, 12.5, np.nan]]
)
def test_an_axis_of_percentages_spans_some_points_and_cuts_no_marker(values):
    bottom, top = percent_range(values)
    assert top - bottom >= LEAST_POINTS
    assert bottom < np.nanmin(values)
    assert top > np.nanmax(values)
    assert bottom >= 0 or np.nanmin(values) < 1


def test_the_trade_off_spans_the_frontier_and_the_variants_and_leaves_far_worse_settings_outside():
    x, y = np.array([2.0, 40.0, 44.0, 30.0]), np.array([1.0, 66.0, 60.0, 70.0])
    here = {RIDGE: (38.0, 58.0)}
    layout = tradeoff(x, y, ["a", "b", "c", "d"], np.array([3, 1, 2]), x_title="x", y_title="y", current=here).layout
    for shown, (low, high) in ((layout.xaxis.range, (30, 44)), (layout.yaxis.range, (58, 70))):
        assert low - 3 < shown[0] < low
        assert high < shown[1] < high + 3


def test_the_large_markers_of_the_trade_off_are_named():
    x, y = np.array([40.0, 44.0]), np.array([66.0, 60.0])
    here = {RIDGE: (44.0, 60.0), RIDGE_PS: (43.0, 63.0)}
    figure = tradeoff(x, y, ["a", "b"], np.array([0, 1]), x_title="x", y_title="y", current=here)
    for variant in here:
        assert trace_of(figure, f"{variant}, now").showlegend


def test_a_pair_of_labels_is_named_in_two_lines_that_leave_half_of_a_narrow_screen_to_its_bar():
    pairs = [("interface::graphical", "x11::application"), ("a" * 60, "b")]
    figure = pair_bars(pairs, np.array([9, 5]), ["", ""], x_title="Instances with both")
    assert figure.layout.yaxis.ticktext[0] == "interface::graphical +<br>x11::application"
    assert not figure.layout.yaxis.automargin
    assert figure.layout.margin.l < 200


def test_a_figure_has_no_arrays_and_no_theme_of_plotlys_so_that_a_browser_can_tell_it_from_another():
    figure = label_frequencies(*profile(50))
    assert isinstance(figure.data[0].y, tuple)
    assert "template" not in figure.to_plotly_json()["layout"]


def test_an_instance_with_one_label_is_told_in_the_singular_and_many_labels_as_one_point():
    told = labels_per_instance(np.ones(70), np.array([3, 1])).data
    assert [*told[0].customdata[:3], told[0].customdata[-1]] == ["0 labels", "1 label", "2 labels", "60 or more labels"]
    assert [trace.hovertemplate.split(":")[0] for trace in told] == ["%{customdata}"] * 2
    assert told[0].y[-1] == 100 * 10 / 70
