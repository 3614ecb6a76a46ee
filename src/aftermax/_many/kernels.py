"""The compiled loops of heads for many classes. Importing this module imports numba."""

import numpy as np

from aftermax._utils.compiled import compiled

BLOCK = 16  # values that are compared with the threshold at once
LOOKED_AT = 512  # values of a row that tell roughly where its largest begin


@compiled
def _keep_largest_of(values, columns, filled, size):
    """Move the ``size`` largest of the values that are filled to the front; the smallest of these."""
    threshold = np.partition(values[:filled], filled - size)[filled - size]
    kept = 0
    for place in range(filled):
        if values[place] > threshold:
            values[kept], columns[kept] = values[place], columns[place]
            kept += 1
    for place in range(kept, size):  # all that equal the threshold count the same
        values[place], columns[place] = threshold, columns[place]
    return threshold


@compiled
def _likely_threshold(row, size, values):
    """A value that probably, but not certainly, more than ``size`` values of a row exceed, by some of them."""
    step = len(row) // LOOKED_AT
    exceeding = 8 + 3 * size // (2 * max(step, 1))
    if step < 4 or exceeding > LOOKED_AT // 2:
        return -np.inf
    for place in range(LOOKED_AT):
        values[place] = row[place * step]
    return np.partition(values[:LOOKED_AT], LOOKED_AT - exceeding)[LOOKED_AT - exceeding]


@compiled
def _largest_of_row(row, size, values, columns):
    """Fill the first places with the largest values of a row and their columns; the smallest of these.

    Of values that equal it, the columns are not theirs.
    """
    threshold = _likely_threshold(row, size, values)
    filled = _values_above(row, threshold, size, values, columns)
    if filled < size:
        filled = _values_above(row, -np.inf, size, values, columns)
    return _keep_largest_of(values, columns, filled, size)


@compiled
def _values_above(row, threshold, size, values, columns):
    """Collect the values above a threshold, and their columns; how many there are.

    When there is no room for more, the largest are kept, and the threshold is raised to the smallest of them.
    """
    filled = 0
    for first in range(0, len(row), BLOCK):
        last = min(first + BLOCK, len(row))
        above = 0  # a sum of comparisons is computed with vector registers
        for column in range(first, last):
            above += row[column] > threshold
        if above == 0:
            continue
        if filled + BLOCK > len(values):
            threshold, filled = _keep_largest_of(values, columns, filled, size), size
        for column in range(first, last):
            if row[column] > threshold:
                values[filled], columns[filled] = row[column], column
                filled += 1
    return filled


@compiled
def _excess_of_row(row, values, places, columns, excess):
    """The largest values of a row as shares of the largest: by how much they exceed the next one after them.

    Halves, because differences of halves never overflow.
    """
    count = len(columns)
    smallest = _largest_of_row(row, count + 1, values, places)
    largest = values[0]
    for slot in range(1, count + 1):
        largest = max(largest, values[slot])
    span = 0.5 * largest - 0.5 * smallest
    filled = 0
    for slot in range(count + 1):
        if values[slot] > smallest:
            columns[filled] = places[slot]
            excess[filled] = (0.5 * values[slot] - 0.5 * smallest) / span
            filled += 1
    for slot in range(filled, count):  # fewer, if several equal the smallest
        columns[slot], excess[slot] = 0, 0.0


@compiled
def take_largest(values, columns, excess):
    """The largest values of each row, as in :class:`~aftermax._many.largest_scores.LargestScores`."""
    room = _room(columns.shape[1])
    largest, places = np.empty(room, values.dtype), np.empty(room, np.int32)
    for n in range(len(values)):
        _excess_of_row(values[n], largest, places, columns[n], excess[n])


@compiled
def _room(count):
    """How many values are collected before the largest are picked."""
    return max(4 * (count + 1) + BLOCK, LOOKED_AT)


@compiled
def _add_similarity(columns, excess, unit_weights, begins, classes, entries, weight, scores):
    """Add ``weight`` times the cosine of a sample and each class mean to the scores."""
    square = 0.0
    for slot in range(len(columns)):
        value = unit_weights[columns[slot]] * excess[slot]
        square += value * value
    if square <= 0:
        return
    factor = weight / np.sqrt(square)
    for slot in range(len(columns)):
        unit = columns[slot]
        value = factor * unit_weights[unit] * excess[slot]
        if value > 0:
            for place in range(begins[unit], begins[unit + 1]):
                scores[classes[place]] += value * entries[place]


@compiled
def add_similarities(columns, excess, unit_weights, begins, classes, entries, weight, scores):
    """The same for several samples."""
    for n in range(len(columns)):
        _add_similarity(columns[n], excess[n], unit_weights, begins, classes, entries, weight, scores[n])


@compiled
def score(values, slope, biases, count, unit_weights, begins, classes, entries, weight, scores):
    """scores = slope * values + biases + weight * similarity, for several samples."""
    columns, excess = np.empty(count, np.int32), np.empty(count, np.float32)
    room = _room(count)
    largest, places = np.empty(room, values.dtype), np.empty(room, np.int32)
    similarities = np.empty(values.shape[1], np.float32)
    for n in range(len(values)):
        row, out = values[n], scores[n]
        _excess_of_row(row, largest, places, columns, excess)
        similarities[:] = 0.0
        _add_similarity(columns, excess, unit_weights, begins, classes, entries, weight, similarities)
        for column in range(len(row)):
            out[column] = slope * row[column] + biases[column] + similarities[column]


@compiled
def predict(values, slope, biases, count, unit_weights, begins, classes, entries, weight, predicted):
    """The column of the largest of these scores; the scores are the same numbers."""
    scores = np.empty((1, values.shape[1]))
    for n in range(len(values)):
        score(values[n : n + 1], slope, biases, count, unit_weights, begins, classes, entries, weight, scores)
        predicted[n] = np.argmax(scores[0])


@compiled
def keep_largest(begins, entries, count, kept):
    """Mark the ``count`` largest entries of each class, and those that equal the smallest of these."""
    for k in range(len(begins) - 1):
        first, last = begins[k], begins[k + 1]
        least = -np.inf
        if last - first > count:
            least = np.partition(entries[first:last], last - first - count)[last - first - count]
        for place in range(first, last):
            kept[place] = entries[place] >= least


@compiled
def judge_mixtures(base, correction, trusts, codes, predictions, losses):
    """For base + trust * correction, with each trust: the column of the largest score, and the log loss."""
    for n in range(len(base)):
        for t in range(len(trusts)):
            best, place = -np.inf, 0
            for column in range(base.shape[1]):
                value = base[n, column] + trusts[t] * correction[n, column]
                if value > best:
                    best, place = value, column
            total = 0.0
            for column in range(base.shape[1]):
                total += np.exp(base[n, column] + trusts[t] * correction[n, column] - best)
            code = codes[n]
            predictions[n, t] = place
            losses[n, t] = np.log(total) + best - base[n, code] - trusts[t] * correction[n, code]
