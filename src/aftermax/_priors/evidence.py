"""Two tests on unlabelled samples: that the class shares have moved, and that more than these has changed."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2, norm

from aftermax._priors.labelled import LabelledSummary

Numbers = NDArray[np.float64]

# A head that was fitted on all labelled samples is not quite as certain as those of the folds: a difference of the mean
# certainty of about this size means nothing.
CERTAINTY_TOLERANCE = 0.01


def moved_p_value(probabilities: Numbers, assumed: Numbers, labelled: float, groups: NDArray[np.int64] | None) -> float:
    """That the mean probabilities of the classes differ from those of the labelled samples only by chance.

    The statistic is Pearson's, sum of (mean - assumed)^2 / assumed. Its distribution, a weighted sum of chi-squares, is
    that of a scaled chi-square with the same mean and variance (Satterthwaite, 1946). Both sides are uncertain: there
    are ``labelled`` independent labelled samples, and these unlabelled ones, or groups of them.
    """
    scaled = (probabilities - probabilities.mean(axis=0)) / np.sqrt(assumed)
    covariance = scaled.T @ scaled / len(scaled)
    own = covariance / len(scaled)
    if groups is not None:
        sums = np.zeros((int(groups.max()) + 1, scaled.shape[1]))
        np.add.at(sums, groups, scaled)
        own = sums.T @ sums / len(scaled) ** 2
    total = own + covariance / labelled
    mean, half_variance = float(np.trace(total)), float(np.square(total).sum())
    if mean <= 0:
        return 1.0
    distance = float((np.square(probabilities.mean(axis=0) - assumed) / assumed).sum())
    return float(chi2.sf(distance * mean / half_variance, mean**2 / half_variance))


def label_shift_p_value(
    certainty: float, shares: Numbers, resampled_surprises: Numbers, summary: LabelledSummary
) -> float:
    """That the head is as certain as the class shares imply: if not, more than these has changed.

    If only the class shares have changed (label shift), samples of a class look as they did. The mean of the largest
    probability is then a mixture of the means by class of the labelled samples.
    """
    surprise = certainty - summary.certainty_means @ shares
    counts = np.maximum(summary.labelled_counts, 1.0)
    labelled = np.square(shares) @ (summary.certainty_variances / counts)
    variance = resampled_surprises.var() + labelled + CERTAINTY_TOLERANCE**2
    return float(2 * norm.sf(abs(surprise) / np.sqrt(variance)))
