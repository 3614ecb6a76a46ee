"""Samples with nothing to gain, what a head gains, and how an AutoHead is made to choose SPH."""

import numpy as np

CROSS_FIT = "aftermax.auto._selection.cross_fit"  # to be patched with without_corrections


def without_corrections(cross_fit):
    """Cross-fitting whose candidates all predict as softmax does, so that SPH is the only one left."""

    def only_softmax(*args, **options):
        cross_fitted = cross_fit(*args, **options)
        return cross_fitted._replace(candidates=dict.fromkeys(cross_fitted.candidates, cross_fitted.softmax))

    return only_softmax


def honest(n_samples=400, seed=1, n_classes=4):
    """Samples whose true probabilities are softmax's: there is nothing to gain."""
    rng = np.random.default_rng(seed)
    logits = 1.5 * rng.normal(size=(n_samples, n_classes))
    return logits, (logits + rng.gumbel(size=logits.shape)).argmax(axis=1)


def gain_on(head, logits, labels, *features):
    before, after = logits.argmax(axis=1) != labels, head.predict(logits, *features) != labels
    return 1 - after.mean() / before.mean()


def log_loss(probabilities, labels):
    return -np.log(probabilities[np.arange(len(labels)), labels]).mean()
