"""Similarity to class means in the space of a sample's largest scores.

The scores of a frozen model err in patterns: a character is taken for the same few others again and again. So samples
of a class are alike in *which* classes their scores name, even where the true class is not first among them. The mean
of a class's samples is that pattern, and the cosine between a sample and a class mean is a score of its own.

This is Rocchio's nearest-centroid classifier for texts, with classes in place of words. A class that many samples name
tells little, so its scores get the inverse document frequency as weight. A class with few labels borrows: its mean
is shrunk towards its own unit vector, the pattern of a model that is right.

References
----------
G. Salton, C. Buckley, "Term-weighting approaches in automatic text retrieval", Information Processing & Management 24,
1988. E.-H. Han, G. Karypis, "Centroid-based document classification: analysis and experimental results", PKDD 2000.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, vstack

from aftermax._many.largest_scores import LargestScores

LEAST_ENTRY = 0.4  # of a class mean that is kept, relative to a vector of as many equal entries as samples have
OWN_SAMPLES = 1.0  # how many samples the unit vector of a class counts for in its mean
CLASSES_AT_ONCE = 500
LEAST = 1e-3  # of a unit's weight and of the unit vector's length


@dataclass(frozen=True)
class ClassMeans:
    """Class means of unit length with few entries each, by the unit (column) they are entries for.

    The entries for unit j are ``entries[begins[j]:begins[j + 1]]``, of the classes at the same places.
    """

    count: int  # of a sample's largest scores that are compared
    unit_weights: NDArray[np.float32]  # (K,)
    begins: NDArray[np.int64]  # (K + 1,)
    classes: NDArray[np.int32]
    entries: NDArray[np.float32]

    @property
    def arrays(self) -> tuple[NDArray[np.float32], NDArray[np.int64], NDArray[np.int32], NDArray[np.float32]]:
        """What the kernels take."""
        return self.unit_weights, self.begins, self.classes, self.entries

    def similarities(self, largest: LargestScores) -> NDArray[np.float32]:
        """The cosine of each sample and each class mean."""
        from aftermax._many import kernels

        out = np.zeros((len(largest.columns), len(self.unit_weights)), np.float32)
        kernels.add_similarities(*largest, *self.arrays, 1.0, out)
        return out

    def by_class(self) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """For each class, the units that its mean has entries for, and the entries; short lines are filled with 0."""
        n_classes = len(self.unit_weights)
        units = np.repeat(np.arange(n_classes), np.diff(self.begins))
        order = np.argsort(self.classes, kind="stable")
        counts = np.bincount(self.classes, minlength=n_classes)
        rows, columns = np.repeat(np.arange(n_classes), counts), np.arange(len(order))
        columns -= np.repeat(np.cumsum(counts) - counts, counts)
        shape = n_classes, max(1, int(counts.max(initial=1)))
        out = np.zeros(shape, np.int64), np.zeros(shape)
        out[0][rows, columns], out[1][rows, columns] = units[order], self.entries[order]
        return out

    def as_matrix(self) -> NDArray[np.float64]:
        """The entries as a (K, K) array: a row for each unit, a column for each class."""
        n_classes = len(self.unit_weights)
        entries = self.entries.astype(np.float64)
        return np.asarray(csr_array((entries, self.classes, self.begins), (n_classes, n_classes)).toarray())


def fit_class_means(
    largest: LargestScores, codes: NDArray[np.int64], weights: NDArray[np.float64], n_classes: int
) -> ClassMeans:
    """The means of the samples of each class, shrunk towards the class's own unit vector."""
    n_samples, count = largest.columns.shape
    vectors, unit_weights = _vectors(largest, n_classes)
    single = weights.astype(np.float32)
    members = csr_array((single, (codes, np.arange(n_samples))), (n_classes, n_samples))
    to_own = (vectors.data.reshape(n_samples, count) * (largest.columns == codes[:, None])).sum(axis=1)
    own = max(float(single @ to_own / max(weights.sum(), LEAST)), LEAST)
    parts = []
    for first in range(0, n_classes, CLASSES_AT_ONCE):  # before they are cut, means have many entries
        some = np.arange(first, min(first + CLASSES_AT_ONCE, n_classes))
        prior = np.full(len(some), OWN_SAMPLES * own, np.float32)
        units = csr_array((prior, (np.arange(len(some)), some)), (len(some), n_classes))
        sums = csr_array(members[some[0] : some[-1] + 1] @ vectors + units)
        parts.append(_unit_length(_with_fewer_entries(_unit_length(sums), count)))
    by_unit = csr_array(vstack(parts).T)
    by_unit.sort_indices()
    return ClassMeans(
        count, unit_weights, by_unit.indptr.astype(np.int64), by_unit.indices.astype(np.int32), by_unit.data
    )


def _vectors(largest: LargestScores, n_classes: int) -> tuple[csr_array, NDArray[np.float32]]:
    """The samples as sparse vectors of unit length, and the weights of the units in them."""
    n_samples, count = largest.columns.shape
    named = np.bincount(largest.columns[largest.excess > 0], minlength=n_classes)
    unit_weights = np.maximum(np.log((n_samples + 1) / (named + 1)), LEAST)
    unit_weights = (unit_weights / unit_weights.max()).astype(np.float32)
    begins = np.arange(0, n_samples * count + 1, count)
    values = unit_weights[largest.columns] * largest.excess
    lengths = np.sqrt(np.einsum("nj,nj->n", values, values))[:, None]
    np.divide(values, lengths, out=values, where=lengths > 0)
    return csr_array((values.ravel(), largest.columns.ravel(), begins), (n_samples, n_classes)), unit_weights


def _unit_length(rows: csr_array) -> csr_array:
    lengths = np.sqrt(np.asarray(rows.power(2).sum(axis=1)))
    factors = np.divide(1.0, lengths, out=np.zeros_like(lengths), where=lengths > 0)
    return csr_array((rows.data * np.repeat(factors, np.diff(rows.indptr)), rows.indices, rows.indptr), rows.shape)


def _with_fewer_entries(rows: csr_array, most: int) -> csr_array:
    """The largest entries of each row, as many as a sample has; the smallest of these are noise."""
    from aftermax._many import kernels

    kept = np.zeros(len(rows.data), dtype=np.bool_)
    kernels.keep_largest(rows.indptr.astype(np.int64), rows.data, most, kept)
    kept &= rows.data >= LEAST_ENTRY / np.sqrt(most)
    counts = np.add.reduceat(np.append(kept, False).astype(np.int64), rows.indptr[:-1])
    counts[np.diff(rows.indptr) == 0] = 0
    return csr_array((rows.data[kept], rows.indices[kept], np.concatenate([[0], np.cumsum(counts)])), rows.shape)
