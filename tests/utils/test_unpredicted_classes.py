"""Classes with many labelled samples that softmax never predicts are warned of; rare classes are not."""

import numpy as np
import pytest

from aftermax import SPHClassifier, audit, sweep
from aftermax._utils.unpredicted_classes import warn_if_unpredicted
from helpers.binary import WORDS, one_logit
from helpers.samples import make_samples

NEVER = "Softmax never predicts "


def masked(n_samples, n_classes=4):
    logits, labels = make_samples(n_samples=n_samples, n_classes=n_classes, home=4.0)
    logits[:, 2] = -1e4
    return logits, labels


def test_a_masked_column_is_warned_of_with_its_class_and_what_to_check():
    logits, labels = masked(800)
    hint = rf"{NEVER}'c', although many samples have this label. Check .*masked out.*classes=\[\.\.\.\]"
    with pytest.warns(UserWarning, match=hint) as caught:
        SPHClassifier().fit(logits, np.array(list("abcd"))[labels])
    assert caught[0].filename == __file__


def test_a_binary_model_with_a_wrong_threshold_is_warned_of():
    z, labels = one_logit(n_samples=100, shift=20.0)
    with pytest.warns(UserWarning, match=f"{NEVER}'no'.*a single logit has its threshold at 0"):
        SPHClassifier().fit(z, WORDS[labels])


def test_an_audit_has_the_warning_once_also_if_each_fold_gives_it():
    with pytest.warns(UserWarning, match=NEVER):
        result = audit(*masked(800), SPHClassifier())
    assert sum(NEVER in text for text in result.warnings) == 1


def test_a_sweep_warns_of_either_samples():
    good = make_samples(n_samples=800, n_classes=4, home=4.0)
    with pytest.warns(UserWarning, match=NEVER):
        sweep(*masked(800), {"certainty": [0.5]})
    bad = dict(zip(("eval_logits", "eval_labels"), masked(800), strict=True))
    with pytest.warns(UserWarning, match=NEVER):
        sweep(*good, {"certainty": [0.5]}, **bad)


def test_a_column_that_is_no_response_is_warned_of_as_such_only():
    logits, labels = make_samples(n_samples=800, n_classes=4)
    with pytest.warns(UserWarning, match="agrees with the label on only") as caught:
        SPHClassifier().fit(np.column_stack([logits, 1000 + np.arange(800)]), labels)
    assert len(caught) == 1


@pytest.mark.parametrize(("n_classes", "of_the_class"), [(2, 29), (4, 99), (2, 49), (10, 149)])
def test_a_rare_class_and_few_samples_are_not_warned_of(n_classes, of_the_class):
    n_samples = {29: 100, 99: 400, 49: 1000, 149: 3000}[of_the_class]
    codes = np.repeat([0, 1], [of_the_class, n_samples - of_the_class])
    predicted = np.arange(n_samples) % (n_classes - 1) + 1
    warn_if_unpredicted(predicted, codes, np.arange(n_classes))
    with pytest.warns(UserWarning, match=f"{NEVER}0"):
        warn_if_unpredicted(predicted, np.where(np.arange(n_samples) == n_samples - 1, 0, codes), np.arange(n_classes))
