"""A plain and slow second implementation of SPH, written from the project's specification alone: the tests' oracle.

Nothing here is meant to be fast. Names follow its words; i is a class, j a response unit, k another class.
"""

import math
import statistics
from dataclasses import dataclass


@dataclass
class Settings:
    """The parameters, with their defaults."""

    certainty: float = 0.9
    window_low: float = 0.0
    window_high: float = 1.0
    center: str = "mean"
    min_separation: float = 0.0
    weight_power: float = 1.0
    veto_distance: float = math.inf
    veto_count: int = 1
    min_gain: float = 0.0
    distance_power: float = 2.0


def add_up(values):
    """Plain float additions in order (the built-in sum compensates its rounding since Python 3.12)."""
    total = 0.0
    for value in values:
        total = total + value
    return total


def power(base, exponent):
    """Base to the exponent; infinity where Python would refuse because the result is too large for a float."""
    try:
        return base**exponent
    except OverflowError:
        return math.inf


def certainty_of(row):
    """Largest entry of the softmax of a row of logits."""
    largest = max(row)
    return 1.0 / add_up(math.exp(logit - largest) for logit in row)


def softmax_answer(row):
    """Lowest index of the largest logit."""
    return row.index(max(row))


def root_mean_square(deviations):
    """Square root of the mean of the squares; 0 for an empty list."""
    if not deviations:
        return 0.0
    return math.sqrt(math.fsum(deviation * deviation for deviation in deviations) / len(deviations))


def standard_deviation(values):
    """Standard deviation with ddof 0, exactly 0 for equal values (statistics.mean is exact, rounded once)."""
    mean = statistics.mean(values)
    return root_mean_square([value - mean for value in values])


def nan_table(size):
    """A size x size nested list of NaN."""
    return [[math.nan] * size for _ in range(size)]


class Reference:
    """SPH fitted on validation logits (a list of rows) and labels (ints in 0..size-1)."""

    def __init__(self, logits, labels, size, settings):
        self.size, self.settings = size, settings
        self.logits = [[float(logit) for logit in row] for row in logits]
        self.labels = list(labels)
        self.present = [i in self.labels for i in range(size)]
        self._fit_response_array()
        self._fit_separation()
        self._fit_weights()
        self._fit_trust()

    def _selected_rows(self, i):
        """Point 1: the rows of class i inside the window, or all of its rows if fewer than 2 are inside."""
        low, high = self.settings.window_low, self.settings.window_high
        rows_of_class = [row for row, label in zip(self.logits, self.labels, strict=True) if label == i]
        inside = [row for row in rows_of_class if low <= certainty_of(row) <= high]
        return rows_of_class if len(inside) < 2 else inside

    def _fit_response_array(self):
        """Point 2: center, left and right spread of each class with rows, for each unit."""
        middle = {"mean": statistics.mean, "median": statistics.median}[self.settings.center]
        self.center, self.left, self.right = nan_table(self.size), nan_table(self.size), nan_table(self.size)
        for i in range(self.size):
            if not self.present[i]:
                continue
            selected = self._selected_rows(i)
            for j in range(self.size):
                responses = [row[j] for row in selected]
                mu = middle(responses)
                above = [response - mu for response in responses if response > mu]
                below = [response - mu for response in responses if response < mu]
                right = root_mean_square(above if above else below)
                left = root_mean_square(below if below else above)
                deviation_of_unit = standard_deviation([row[j] for row in self.logits])
                floor = 1e-6 * deviation_of_unit if deviation_of_unit > 0 else 1e-6
                self.center[i][j] = mu
                self.left[i][j], self.right[i][j] = max(left, floor), max(right, floor)

    def _separation_of_pair(self, i, k, j):
        """Distance between the centers of classes i and k in unit j, over the mean of the spreads facing each other."""
        if self.center[i][j] > self.center[k][j]:
            a, b = self.left[i][j], self.right[k][j]
        else:
            a, b = self.right[i][j], self.left[k][j]
        return abs(self.center[i][j] - self.center[k][j]) / (0.5 * (a + b))

    def _fit_separation(self):
        """Point 3: median over the other classes with rows; NaN if class i has no rows or there is no other class."""
        self.separation = nan_table(self.size)
        for i in range(self.size):
            others = [k for k in range(self.size) if k != i and self.present[k]]
            if not self.present[i] or not others:
                continue
            for j in range(self.size):
                self.separation[i][j] = statistics.median([self._separation_of_pair(i, k, j) for k in others])

    def _fit_weights(self):
        """Point 4: cut, sharpen, divide by the row's sum. NaN is never kept."""
        self.weights = [[0.0] * self.size for _ in range(self.size)]
        for i in range(self.size):
            sharpened = [0.0] * self.size
            for j in range(self.size):
                if self.separation[i][j] >= self.settings.min_separation:
                    sharpened[j] = self.separation[i][j] ** self.settings.weight_power
            total = add_up(sharpened)
            if total > 0:
                self.weights[i] = [value / total for value in sharpened]

    def _fit_trust(self):
        """Point 5: does pooling beat softmax on the uncertain validation rows of a class?"""
        self.trusted = [False] * self.size
        for i in range(self.size):
            total = pooling_right = softmax_right = 0
            for row, label in zip(self.logits, self.labels, strict=True):
                if label != i or certainty_of(row) >= self.settings.certainty:
                    continue
                softmax, pooling = softmax_answer(row), self._pooling_answer(row)
                if pooling is None:
                    pooling = softmax
                total += 1
                pooling_right += pooling == i
                softmax_right += softmax == i
            if total > 0:
                self.trusted[i] = (pooling_right - softmax_right) / total > self.settings.min_gain

    # Predicting

    def _can_pool(self, i):
        """Whether class i can ever be pooling's answer: its weight row is not all zero."""
        return any(weight != 0 for weight in self.weights[i])

    def _distance(self, row, i, j):
        """Point 2: how many spreads the response of unit j lies from the center of class i."""
        mu = self.center[i][j]
        return (row[j] - mu) / self.right[i][j] if row[j] > mu else (mu - row[j]) / self.left[i][j]

    def _vetoed(self, row, i):
        """Point 3: enough of all the units raise a flag against class i."""
        if self.settings.veto_distance == math.inf:
            return False
        flags = [j for j in range(self.size) if self._distance(row, i, j) >= self.settings.veto_distance]
        return len(flags) >= self.settings.veto_count

    def pooled_scores(self, row):
        """The pooled sum of point 4 for each class, without the veto; inf for a class that can never be the answer."""
        scores = [math.inf] * self.size
        for i in range(self.size):
            if self._can_pool(i):
                weighted = [self.weights[i][j] * self._distance(row, i, j) for j in range(self.size)]
                scores[i] = add_up(power(value, self.settings.distance_power) for value in weighted)
        return scores

    def _pooling_answer(self, row):
        """Point 4: the class left with the least pooled sum, lowest index on a tie; None if no class is left."""
        scores = self.pooled_scores(row)
        left_over = [i for i in range(self.size) if self._can_pool(i) and not self._vetoed(row, i)]
        return min(left_over, key=lambda i: scores[i]) if left_over else None

    def predict(self, row):
        """The answer for one row of logits, and its route: "softmax", "pooled" or "reverted"."""
        if certainty_of(row) >= self.settings.certainty:
            return softmax_answer(row), "softmax"
        pooling = self._pooling_answer(row)
        if pooling is not None and self.trusted[pooling]:
            return pooling, "pooled"
        return softmax_answer(row), "reverted"
