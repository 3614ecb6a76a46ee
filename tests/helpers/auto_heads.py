"""Samples with something to gain, and an AutoHead that is made to choose SPH."""

import numpy as np

from helpers.samples import make_samples

CROSS_FIT = "aftermax.auto._selection.cross_fit"  # to be patched with without_corrections


def weak(rows=400, seed=1):
    """Samples of a network whose softmax leaves much on the table: the units' levels are off."""
    logits, labels = make_samples(seed=seed, rows=rows, home=2.0)
    return logits + np.array([2.0, -1.0, 0.0, 1.0, -2.0]), labels


def without_corrections(cross_fit):
    """Cross-fitting whose combination predicts as softmax does, so that SPH is the only candidate left."""

    def only_softmax(*args):
        cross_fitted = cross_fit(*args)
        cross_fitted.out_of_fold["combination"] = cross_fitted.out_of_fold["softmax"]
        return cross_fitted

    return only_softmax
