"""The compiled loops of stacking. Importing this module imports numba, so import it on first use only."""

import math

import numpy as np

from aftermax._utils.compiled import compiled


@compiled
def scores_of(bases, weights, biases, sample, out):
    """A sample's stacked scores, less the largest of them, written to ``out``."""
    count, n_classes = bases.shape[0], bases.shape[2]
    for k in range(n_classes):
        out[k] = biases[k]
    for m in range(count):
        weight = weights[m]
        for k in range(n_classes):
            out[k] += weight * bases[m, sample, k]
    highest = out[0]
    for k in range(1, n_classes):
        highest = max(highest, out[k])
    for k in range(n_classes):
        out[k] -= highest


@compiled
def stacked_loss(bases, weights, biases, codes, smoothing, shares):
    """The weighted mean of the log losses; the share ``smoothing`` of a target is spread evenly over the classes."""
    n_samples, n_classes = bases.shape[1:]
    scores = np.empty(n_classes)
    loss = 0.0
    for n in range(n_samples):
        scores_of(bases, weights, biases, n, scores)
        mean, total = 0.0, 0.0
        for k in range(n_classes):
            mean += scores[k]
            total += math.exp(scores[k])
        agreement = (1 - smoothing) * scores[codes[n]] + smoothing * mean / n_classes
        loss += shares[n] * (math.log(total) - agreement)
    return loss


@compiled
def stacked_derivatives(bases, weights, biases, codes, smoothing, shares, probabilities):
    """Derivatives of the loss by the weights: gradient, Hessian, and the Hessian's rows by weight and bias.

    The probabilities of all samples are written to ``probabilities``.
    """
    count, n_samples, n_classes = bases.shape
    gradient = np.zeros(count)
    by_weights, by_biases = np.zeros((count, count)), np.zeros((count, n_classes))
    centred = np.empty((count, n_classes))
    for n in range(n_samples):
        current = probabilities[n]
        scores_of(bases, weights, biases, n, current)
        share = shares[n]
        total = 0.0
        for k in range(n_classes):
            current[k] = math.exp(current[k])
            total += current[k]
        for k in range(n_classes):
            current[k] /= total
        for m in range(count):
            mean, plain = 0.0, 0.0
            for k in range(n_classes):
                mean += current[k] * bases[m, n, k]
                plain += bases[m, n, k]
            target = (1 - smoothing) * bases[m, n, codes[n]] + smoothing * plain / n_classes
            gradient[m] += share * (mean - target)
            for k in range(n_classes):
                centred[m, k] = bases[m, n, k] - mean
                by_biases[m, k] += share * current[k] * centred[m, k]
            for other in range(m + 1):
                total = 0.0
                for k in range(n_classes):
                    total += current[k] * centred[m, k] * centred[other, k]
                by_weights[m, other] += share * total
    for m in range(count):
        for other in range(m):
            by_weights[other, m] = by_weights[m, other]
    return gradient, by_weights, by_biases
