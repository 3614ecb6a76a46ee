"""The compiled loops of heads for many classes. Importing this module imports numba."""

import numpy as np

from aftermax._utils.compiled import compiled

BLOCK = 16  # values that are compared with the threshold at once


@compiled
def _sift_down(values, columns, size):
    """Restore the order of a heap, whose root is the smallest, after the root was replaced."""
    place = 0
    while True:
        child = 2 * place + 1
        if child >= size:
            return
        if child + 1 < size and values[child + 1] < values[child]:
            child += 1
        if values[place] <= values[child]:
            return
        values[place], values[child] = values[child], values[place]
        columns[place], columns[child] = columns[child], columns[place]
        place = child


@compiled
def _largest_of_row(row, heap, places):
    """Fill the heap with the largest values of a row, and ``places`` with their columns; the root is the smallest."""
    size = len(heap)
    for slot in range(size):
        heap[slot], places[slot] = -np.inf, 0
    first = 0
    while first < len(row):
        last = min(first + BLOCK, len(row))
        largest = row[first]
        for column in range(first + 1, last):
            largest = max(largest, row[column])
        if largest > heap[0]:
            for column in range(first, last):
                if row[column] > heap[0]:
                    heap[0], places[0] = row[column], column
                    _sift_down(heap, places, size)
        first = last


@compiled
def _excess_of_row(row, heap, places, columns, excess):
    """The largest values of a row as shares of the largest: by how much they exceed the next one after them.

    The heap has room for one more value than there are columns. Halves, because differences of halves never overflow.
    """
    _largest_of_row(row, heap, places)
    largest = heap[0]
    for slot in range(1, len(heap)):
        largest = max(largest, heap[slot])
    span = 0.5 * largest - 0.5 * heap[0]
    for slot in range(1, len(heap)):
        columns[slot - 1] = places[slot]
        excess[slot - 1] = (0.5 * heap[slot] - 0.5 * heap[0]) / span if span > 0 else 0.0


@compiled
def take_largest(values, columns, excess):
    """The largest values of each row, as in :class:`~aftermax._many.largest_scores.LargestScores`."""
    heap, places = np.empty(columns.shape[1] + 1, values.dtype), np.empty(columns.shape[1] + 1, np.int32)
    for n in range(len(values)):
        _excess_of_row(values[n], heap, places, columns[n], excess[n])


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
    heap, places = np.empty(count + 1, values.dtype), np.empty(count + 1, np.int32)
    for n in range(len(values)):
        row, out = values[n], scores[n]
        _excess_of_row(row, heap, places, columns, excess)
        for column in range(len(row)):
            out[column] = slope * row[column] + biases[column]
        _add_similarity(columns, excess, unit_weights, begins, classes, entries, weight, out)


@compiled
def predict(values, slope, biases, count, unit_weights, begins, classes, entries, weight, predicted):
    """The column of the largest of these scores; the scores are the same numbers."""
    columns, excess = np.empty(count, np.int32), np.empty(count, np.float32)
    heap, places = np.empty(count + 1, values.dtype), np.empty(count + 1, np.int32)
    out = np.empty(values.shape[1])
    for n in range(len(values)):
        row = values[n]
        _excess_of_row(row, heap, places, columns, excess)
        for column in range(len(row)):
            out[column] = slope * row[column] + biases[column]
        _add_similarity(columns, excess, unit_weights, begins, classes, entries, weight, out)
        predicted[n] = np.argmax(out)


@compiled
def keep_largest(begins, entries, count, kept):
    """Mark the ``count`` largest entries of each class."""
    heap, places = np.empty(count, entries.dtype), np.empty(count, np.int32)
    for k in range(len(begins) - 1):
        first, last = begins[k], begins[k + 1]
        if last - first <= count:
            kept[first:last] = True
            continue
        _largest_of_row(entries[first:last], heap, places)
        for slot in range(count):
            kept[first + places[slot]] = True


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
