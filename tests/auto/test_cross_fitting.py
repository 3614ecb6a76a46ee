"""Cross-fitting: out-of-fold predictions come from heads fitted without the fold."""

import numpy as np
from sklearn.utils import check_random_state

from aftermax import AutoHead
from aftermax._residual.fitting import fit_corrections
from aftermax._residual.head import compact
from aftermax._residual.samples import Samples
from aftermax._utils.folds import content_order, stratified_folds
from helpers.samples import weak_samples


def test_out_of_fold_predictions_are_those_of_heads_fitted_without_the_sample():
    logits, labels = weak_samples(n_samples=120)
    held_out = AutoHead(cv=3).fit(logits, labels).held_out_
    rng = np.random.default_rng(check_random_state(0).randint(2**31))
    order = content_order(logits, labels)
    rng.permutation(120)  # which samples are fitted on, if they were very many
    sample = Samples(logits[order], labels[order], np.ones(120))
    folds = stratified_folds(sample.codes, 3, rng)
    generators = rng.spawn(4)
    for fold in range(3):
        head = compact(fit_corrections(sample.take(folds != fold), generators[fold])["combination"])
        predictions = head.scores([sample.logits[folds == fold]]).argmax(axis=1)
        np.testing.assert_array_equal(held_out[order[folds == fold]], predictions)
