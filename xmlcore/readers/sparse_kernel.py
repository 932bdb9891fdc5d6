"""The compiled loop that parses lines of `labels index:value index:value`.

It reads every byte once. Decimal numbers are gathered as an integer of up to 18 digits and a power of ten; with up to
15 digits and a power within ±22 both are exact in float64, so the quotient or product is correctly rounded. Others are
long decimals: their error stays far below float32, in which features are kept, but not below float64. A reader of
float64 has the loop run once more for their places, and reads them by Python.
"""

from __future__ import annotations

import numpy as np

from xmlcore.compiled import compiled

# What a line may begin with: nothing but features; labels wherever it does not begin with a blank (XC); labels unless
# the first field is a feature (LIBSVM, where `#` begins a comment and blank lines are no instances).
NO_LABELS, XC, LIBSVM = 0, 1, 2

# With up to so many digits, and a power of ten within so many, a decimal number is read exactly.
_EXACT_DIGITS, _EXACT_POWER = 15, 22

OK, LABEL, INDEX, COLON, VALUE, NOT_FINITE, FEATURE_RANGE, LABEL_RANGE, DUPLICATE = range(9)

# Places in the report that the loop fills.
CODE, POSITION, LINE, ROWS, N_FEATURES, N_LABELS, DETAIL = 0, 1, 2, 3, 4, 5, 6
WIDEST_FEATURE, WIDEST_LABEL, VALUED_LABELS, REPEATED_LABELS, BLANK_LINES, DROPPED_LABELS = 7, 8, 9, 10, 11, 12
LONG_DECIMALS = 13
REPORT_SIZE = 14

_SPACE, _TAB, _RETURN, _NEWLINE, _HASH, _COMMA, _COLON = 32, 9, 13, 10, 35, 44, 58
_ZERO, _NINE, _PLUS, _MINUS, _DOT, _E_LARGE, _E_SMALL = 48, 57, 43, 45, 46, 69, 101
_MAX_DIGITS = 18
_POWERS = np.array([float(f"1e{power}") for power in range(309)])
_FLOAT32_MAX = 3.4028235677973366e38  # from here on the nearest float32 is infinity


@compiled
def _is_blank(byte):
    return byte in (_SPACE, _TAB, _RETURN)


@compiled
def _whole_number(text, at):
    """The number that starts at `at`, and where it ends; the end is `at` where there is none. Stays below 10^18."""
    number = np.int64(0)
    while _ZERO <= text[at] <= _NINE:
        if number < 10**16:
            number = number * 10 + (text[at] - _ZERO)
        at += 1
    return number, at


@compiled
def _scaled(mantissa, exponent):
    if mantissa == 0:
        return 0.0
    if exponent > 308:
        return np.inf
    if exponent >= 0:
        return mantissa * _POWERS[exponent]
    if exponent >= -308:
        return mantissa / _POWERS[-exponent]
    if exponent >= -616:
        return mantissa / _POWERS[308] / _POWERS[-exponent - 308]
    return 0.0


@compiled
def _decimal(text, at):
    """The decimal number that starts at `at`, where it ends, and whether it is long (see above).

    The end is `at` where there is none.
    """
    start = at
    negative = text[at] == _MINUS
    if negative or text[at] == _PLUS:
        at += 1
    mantissa = np.int64(0)
    digits = 0
    exponent = 0
    seen = False
    while _ZERO <= text[at] <= _NINE:
        seen = True
        if digits < _MAX_DIGITS:
            mantissa = mantissa * 10 + (text[at] - _ZERO)
            digits += mantissa > 0
        else:
            exponent += 1
        at += 1
    if text[at] == _DOT:
        at += 1
        while _ZERO <= text[at] <= _NINE:
            seen = True
            if digits < _MAX_DIGITS:
                mantissa = mantissa * 10 + (text[at] - _ZERO)
                digits += mantissa > 0
                exponent -= 1
            at += 1
    if not seen:
        return 0.0, start, False
    if text[at] == _E_SMALL or text[at] == _E_LARGE:
        at += 1
        minus = text[at] == _MINUS
        if minus or text[at] == _PLUS:
            at += 1
        power, end = _whole_number(text, at)
        if end == at:
            return 0.0, start, False
        at = end
        power = min(power, 100_000)
        exponent += -power if minus else power
    value = _scaled(mantissa, exponent)
    long = mantissa != 0 and (digits > _EXACT_DIGITS or abs(exponent) > _EXACT_POWER)
    return (-value if negative else value), at, long


@compiled
def _starts_with_feature(text, at):
    """Whether the field at `at` is `index:value` and not a list of labels."""
    colon = False
    while text[at] > _SPACE:
        if text[at] == _COMMA:
            return False
        colon = colon or text[at] == _COLON
        at += 1
    return colon


@compiled
def _sort_row(keys, values, start, stop):
    """Sorts keys[start:stop], and values with them, in place; both may be one array. A Shell sort.

    Written out, since numba takes seconds to compile numpy's sort, which the first reader of a file would wait for.
    """
    gap = 1
    while gap < (stop - start) // 3:
        gap = 3 * gap + 1
    while gap > 0:
        for at in range(start + gap, stop):
            key, value = keys[at], values[at]
            place = at
            while place >= start + gap and keys[place - gap] > key:
                keys[place] = keys[place - gap]
                values[place] = values[place - gap]
                place -= gap
            keys[place] = key
            values[place] = value
        gap //= 3


@compiled
def _sorted_labels(labels, start, stop):
    """Sorts labels[start:stop] and drops repetitions; the new end."""
    _sort_row(labels, labels, start, stop)
    end = start
    for at in range(start, stop):
        if end == start or labels[at] != labels[end - 1]:
            labels[end] = labels[at]
            end += 1
    return end


@compiled
def _read_labels(text, at, n_labels, labels, filled, report):
    """Reads the label field at `at` into labels[filled:]; where it ends, and the new number filled."""
    start = filled
    increasing = True
    while True:
        report[POSITION] = at
        label, end = _whole_number(text, at)
        if end == at:
            report[CODE] = LABEL
            return at, filled
        relevant = True
        if text[end] == _COLON:
            value, stop, _ = _decimal(text, end + 1)
            if stop == end + 1 or not np.isfinite(value):
                report[CODE] = VALUE if stop == end + 1 else NOT_FINITE
                return at, filled
            report[VALUED_LABELS] += 1
            relevant = value != 0
            report[DROPPED_LABELS] += not relevant
            end = stop
        if text[end] != _COMMA and text[end] != _NEWLINE and not _is_blank(text[end]):
            report[CODE] = LABEL
            return at, filled
        if label >= n_labels:
            report[CODE] = LABEL_RANGE
            report[DETAIL] = label
            return at, filled
        report[WIDEST_LABEL] = max(report[WIDEST_LABEL], label + 1)
        if relevant:
            increasing = increasing and (filled == start or labels[filled - 1] < label)
            labels[filled] = label
            filled += 1
        if text[end] != _COMMA:
            break
        at = end + 1
    if not increasing:
        unique = _sorted_labels(labels, start, filled)
        report[REPEATED_LABELS] += filled - unique
        filled = unique
    return end, filled


@compiled
def parse_lines(
    text, form, base, n_features, n_labels, features, values, row_features, labels, row_labels, report, places
):
    """Parses whole lines of bytes into the given arrays.

    Args:
        text: uint8, ends with a newline.
        form: NO_LABELS, XC or LIBSVM.
        base: the number of the first feature, 0 or 1; it becomes 0.
        n_features, n_labels: every index must be below (after the base is taken off).
        features, values, row_features, labels, row_labels: int32, float32 or float64, int64, int32, int64, filled
            from the start: indices and values of all rows one after another, and how many each row has; the same for
            labels.
            Zero values are left out; features and labels of a row are put in order.
        places: whether values, of float64, are to be filled with the places of long decimals in the text and with -1
            for the others.
        report: int64 of REPORT_SIZE, zeros. CODE stays OK or says what is wrong at byte POSITION, in line LINE from 0.
    """
    # Typed, since numba compiles what is called with a literal 0 once more for that.
    at = line = rows = filled = n_filled = blank_lines = np.int64(0)
    while at < len(text):
        report[LINE] = line
        line += 1
        start = at
        first_feature = filled
        first_label = n_filled
        has_field = form != NO_LABELS and text[at] != _NEWLINE and not _is_blank(text[at])
        if has_field and (form == XC or (text[at] != _HASH and not _starts_with_feature(text, at))):
            at, n_filled = _read_labels(text, at, n_labels, labels, n_filled, report)
            if report[CODE] != OK:
                return
        previous = -1
        increasing = True
        while True:
            while _is_blank(text[at]):
                at += 1
            if text[at] == _NEWLINE:
                break
            if form == LIBSVM and text[at] == _HASH:
                break
            report[POSITION] = at
            index, end = _whole_number(text, at)
            if end == at:
                report[CODE] = INDEX
                return
            if text[end] != _COLON:
                report[CODE] = COLON
                return
            index -= base
            if index < 0 or index >= n_features:
                report[CODE] = FEATURE_RANGE
                report[DETAIL] = index + base
                return
            value, stop, long = _decimal(text, end + 1)
            ends = text[stop] == _NEWLINE or _is_blank(text[stop]) or (form == LIBSVM and text[stop] == _HASH)
            if stop == end + 1 or not ends:
                report[CODE] = VALUE
                return
            if not abs(value) < (_FLOAT32_MAX if values.itemsize == 4 else np.inf):
                report[CODE] = NOT_FINITE
                return
            if index <= previous:
                increasing = False
            previous = index
            features[filled] = index
            if long:
                report[LONG_DECIMALS] += 1
            values[filled] = value if not places or value == 0 else (end + 1 if long else -1)
            filled += 1
            at = stop
        comment = text[at] == _HASH
        while text[at] != _NEWLINE:
            at += 1
        # A line that holds a blank is an instance without labels and features; one that holds nothing may be none.
        empty = at == start or (at == start + 1 and text[start] == _RETURN) or (comment and text[start] == _HASH)
        at += 1
        blank_lines = blank_lines + 1 if empty else 0
        if empty and form == LIBSVM:
            continue
        if not increasing:
            _sort_row(features, values, first_feature, filled)
        kept = first_feature
        widest = -1
        for place in range(first_feature, filled):
            if features[place] == widest:
                report[CODE] = DUPLICATE
                report[DETAIL] = widest + base
                report[POSITION] = start
                return
            widest = features[place]
            if values[place] != 0:
                features[kept] = widest
                values[kept] = values[place]
                kept += 1
        filled = kept
        report[WIDEST_FEATURE] = max(report[WIDEST_FEATURE], widest + 1)
        row_features[rows] = filled - first_feature
        row_labels[rows] = n_filled - first_label
        rows += 1
    report[LINE] = line
    report[ROWS] = rows
    report[N_FEATURES] = filled
    report[N_LABELS] = n_filled
    report[BLANK_LINES] = blank_lines
