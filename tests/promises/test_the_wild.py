"""What was seen in the wild, line by line: each of these tests failed before the guard judged errors."""

import warnings

import numpy as np
import pytest

import aftermax
from aftermax import AutoHead
from aftermax._utils.comparison import Comparison
from aftermax._utils.paired_tests import sign_flip_p_value
from aftermax._utils.softmax import softmax
from aftermax.auto.guard import Judged, decide
from aftermax.data import load_vmnist
from experiments.trust.worlds import World, draw

QUIET = pytest.mark.filterwarnings("ignore:Fewer than", "ignore:.*identical to another one")


def fitted(world, n_samples, seed=0, **parameters):
    """AutoHead on a draw of a world, and the true change of its errors relative to softmax's."""
    drawn = draw(world, n_samples, seed)
    head = AutoHead(classes=np.arange(world.classes), progress=False, **parameters)
    head.fit(drawn.logits, drawn.labels, **drawn.metadata)
    return head, true_gain(drawn, head)


def true_gain(drawn, head):
    truth = drawn.test_truth / drawn.test_truth.sum()
    before, after = (
        1 - truth[np.arange(len(truth)), predicted].sum()
        for predicted in (drawn.test_logits.argmax(axis=1), head.predict(drawn.test_logits))
    )
    return 1 - after / before


def evidence(wins, losses, loss_p_value, trust=1.0, tier="combination"):
    drops = np.zeros(1000)
    drops[:wins], drops[wins : wins + losses] = 1, -1
    errors = np.zeros(1000)
    errors[:wins], errors[-50:] = 1, 1
    return Judged(tier, trust, Comparison(drops, errors), 0.1, loss_p_value)


@pytest.mark.parametrize(("wins", "losses"), [(0, 0), (10, 10), (10, 14), (3, 4)])
def test_a_lower_log_loss_alone_changes_no_prediction(wins, losses):
    judged = [evidence(wins, losses, 1e-9, trust) for trust in (0.25, 0.5, 0.75, 1.0)]
    decision = decide(judged)
    assert decision.chosen is None
    assert decision.p_value > 0.3


def test_with_little_evidence_a_quarter_is_trusted_and_nothing_is_claimed():
    decision = decide([evidence(3, 2, 1e-4, 0.25), evidence(5, 4, 1e-4, 1.0)])
    assert decision.chosen.trust == 0.25
    assert not decision.proven


def test_the_p_value_is_of_errors_and_exact():
    assert sign_flip_p_value(np.array([1.0, 1.0, 1.0, 0.0, 0.0])) == 0.125
    assert decide([evidence(3, 0, 1e-9)]).p_value == 0.125


def test_trying_more_tiers_raises_no_false_alarms():
    rng, alarms, worlds = np.random.default_rng(0), 0, 300
    for _ in range(worlds):
        judged = []
        for trust in (0.25, 0.5, 0.75, 1.0):
            drops = np.where(rng.random(400) < 0.1, rng.choice([-1.0, 1.0], size=400), 0.0)
            judged.append(Judged("combination", trust, Comparison(drops, np.ones(400)), 0.1, 0.001))
        alarms += decide(judged).proven
    assert alarms <= 0.025 * worlds + 2 * np.sqrt(0.025 * worlds)


@QUIET
def test_one_error_before_and_none_after_proves_nothing():
    head, gain = fitted(World("calibrated", 10, 1), 100)
    assert not head.proven_
    assert gain > -0.02


@QUIET
@pytest.mark.parametrize("seed", range(3))
def test_where_only_temperatures_differ_by_class_nothing_is_claimed_and_little_changes(seed):
    head, gain = fitted(World("temperature by class", 3, 20), 100, seed)
    assert not head.proven_
    assert gain > -0.02


@QUIET
@pytest.mark.parametrize("seed", range(3))
def test_every_sample_twice_is_not_twice_the_evidence(seed):
    head, gain = fitted(World("duplicated", 3, 20), 400, seed)
    assert not head.proven_
    assert gain > -0.02


@QUIET
@pytest.mark.parametrize("seed", range(3))
def test_texts_that_come_several_times_with_other_labels_prove_nothing(seed):
    """As in a log: one in seven comes again, and one label in ten is wrong. Softmax is Bayes-optimal."""
    rng = np.random.default_rng(seed)
    logits = rng.normal(size=(300, 4))
    truth = np.array([rng.choice(4, p=chances) for chances in softmax(logits)])
    which = np.repeat(np.arange(300), np.where(np.arange(300) < 45, rng.integers(2, 7, size=300), 1))
    wrong = (truth[which] + rng.integers(1, 4, size=len(which))) % 4
    labels = np.where(rng.random(len(which)) < 0.9, truth[which], wrong)
    with pytest.warns(UserWarning, match="are identical to another one"):
        result = aftermax.audit(logits[which], labels)
    assert not result.head.proven_
    assert not result.verdict.startswith("Yes")


@pytest.mark.parametrize("form", [lambda logits: logits, lambda logits: np.round(logits, 1)], ids=["whole", "rounded"])
@pytest.mark.parametrize(("n_images", "n_people"), [(100, 12), (60, 40), (150, 5)])
def test_images_that_many_people_labelled_prove_nothing_of_new_images(n_images, n_people, form):
    """Said before: "Yes: 41 of 100 errors are gone", and 41 % more errors on new images."""
    rng = np.random.default_rng(0)
    scores = load_vmnist(trained_on=500)
    which = np.repeat(rng.choice(4_000, n_images, replace=False), n_people)
    labels = np.where(rng.random(len(which)) < 0.9, scores.val_labels[which], rng.integers(10, size=len(which)))
    with pytest.warns(UserWarning, match="are identical to another one"):
        result = aftermax.audit(form(scores.val_logits[which]), labels, AutoHead(budget="fast"))
    assert not result.verdict.startswith("Yes")
    softmax_error = np.mean(scores.test_logits.argmax(axis=1) != scores.test_labels)
    assert np.mean(result.head.predict(form(scores.test_logits)) != scores.test_labels) < 1.02 * softmax_error


@pytest.mark.parametrize("seed", range(3))
def test_samples_of_the_same_patients_do_not_prove_what_new_patients_disprove(seed):
    world = World("patients", 3, 20)
    head, gain = fitted(world, 600, seed)
    assert not head.proven_
    assert gain > -0.02
    drawn = draw(world, 600, seed)
    result = aftermax.audit(drawn.logits, drawn.labels, groups=drawn.metadata["groups"])
    assert not result.verdict.startswith("Yes")
    assert result.groups == 100


def half_positives(rng, n_samples):
    """Two classes of a model that knows that one in twenty is positive; half of the labelled samples are."""
    labels = rng.permutation(np.arange(n_samples) % 2)
    score = rng.normal(size=n_samples) + 2.0 * labels
    log_odds = 2.0 * score - 2.0 + np.log(0.05 / 0.95)
    return np.column_stack([-log_odds / 2, log_odds / 2]), labels


def test_the_audit_names_the_class_mix_and_the_true_one_can_be_set():
    rng = np.random.default_rng(0)
    logits, labels = half_positives(rng, 600)
    result = aftermax.audit(logits, labels)
    assert result.class_shares == (0.5, 0.5)
    assert "as frequent as here: 0 50.0 %, 1 50.0 %" in str(result)
    assert "class_prior" in str(result)
    with_prior = aftermax.audit(logits, labels, class_prior={0: 0.95, 1: 0.05})
    assert not with_prior.verdict.startswith("Yes")
    truth = (rng.random(20_000) < 0.05).astype(int)
    log_odds = 2.0 * (rng.normal(size=20_000) + 2.0 * truth) - 2.0 + np.log(0.05 / 0.95)
    new = np.column_stack([-log_odds / 2, log_odds / 2])
    softmax, wrong_mix, right_mix = (
        np.mean(predicted != truth)
        for predicted in (new.argmax(axis=1), result.head.predict(new), with_prior.head.predict(new))
    )
    assert wrong_mix > 1.5 * softmax  # what the audit warns of
    assert right_mix < 1.05 * softmax


def test_values_that_differ_in_their_last_digits_give_the_same_result():
    scores = load_vmnist(trained_on=500)
    logits, labels = scores.val_logits[:400].astype(np.float64), scores.val_labels[:400]
    noise = 1 + 5e-8 * np.random.default_rng(0).choice([-1, 1], size=logits.shape)
    first, second = (AutoHead().fit(values, labels) for values in (logits, logits * noise))
    assert first.gain_ == second.gain_
    assert (first.held_out_ == second.held_out_).all()


def test_another_random_state_moves_a_gain_by_less_than_its_standard_error():
    scores = load_vmnist(trained_on=500)
    gains = []
    for seed in range(4):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            head = AutoHead(random_state=seed).fit(scores.val_logits[:1000], scores.val_labels[:1000])
        gains.append(head.candidates_["combination"].gain)
    low, high = head.candidates_["combination"].gain_interval
    standard_error = (high - low) / 3.92
    assert np.std(gains, ddof=1) < 0.5 * standard_error


@QUIET
def test_where_softmax_is_kept_the_gain_is_zero_and_the_temperature_proven_or_one():
    head, gain = fitted(World("calibrated", 3, 20), 100)
    assert head.chosen_ == "softmax"
    assert (head.gain_, head.gain_interval_, head.trust_, gain) == (0.0, (0.0, 0.0), 0.0, 0.0)
    assert head.fitted_head_.temperature == 1.0
    overconfident, _ = fitted(World("overconfident", 3, 20), 400)
    assert overconfident.fitted_head_.temperature > 1.5


def test_a_gain_that_was_selected_is_shrunk_by_its_uncertainty():
    weak, strong = (Comparison.of(*counted(*counts)) for counts in ((6, 2, 20), (300, 100, 1000)))
    assert weak.selected_gain == pytest.approx(0.2 * (1 - 8 / 16))
    assert 0.19 < strong.selected_gain < 0.2
    assert Comparison.of(*counted(2, 6, 20)).selected_gain == 0.0


def counted(wins, losses, errors, n_samples=2000):
    before, after = np.ones(n_samples, dtype=bool), np.ones(n_samples, dtype=bool)
    before[:errors] = False
    after[wins:errors] = False
    after[errors : errors + losses] = False
    return before, after


def test_a_gain_is_never_significant_beside_an_interval_that_holds_zero():
    rng = np.random.default_rng(0)
    significant = 0
    for _ in range(200):
        wins, losses, others = (int(rng.integers(most)) for most in (40, 20, 60))
        comparison = Comparison.of(*counted(wins, losses, wins + others, 400))
        if comparison.p_value < 0.025:
            significant += 1
            assert comparison.intervals()[0][0] > 0, (wins, losses, others)
    assert significant > 50


def test_where_nothing_changed_the_interval_still_has_a_width():
    low, high = Comparison.of(*counted(0, 0, 5, 100)).intervals()[0]
    assert low < -0.05 < 0.05 < high


def test_the_range_on_new_samples_is_wider_than_the_interval_of_the_true_gain():
    comparison = Comparison.of(*counted(30, 10, 100, 1000))
    (low, high), (new_low, new_high) = comparison.intervals()
    assert new_low < low < comparison.gain < high < new_high


def test_samples_needed_are_a_range_or_nothing():
    rng = np.random.default_rng(1)
    labels = rng.integers(3, size=200)
    logits = rng.normal(size=(200, 3)) + 1.5 * np.eye(3)[labels]
    needed = aftermax.audit(logits, labels).rows_needed
    assert needed is None or needed[0] < needed[1] <= 50 * needed[0]


def test_only_proven_keeps_softmax_where_a_head_would_predict_without_a_proof():
    scores = load_vmnist(trained_on=500)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        bold, strict = (
            AutoHead(only_proven=only).fit(scores.val_logits[:100], scores.val_labels[:100]) for only in (False, True)
        )
    assert bold.chosen_ == "combination"
    assert not bold.proven_
    assert strict.chosen_ == "softmax"
    assert strict.p_value_ == bold.p_value_


@pytest.mark.parametrize("size", [1e5, 1e8])
def test_one_outlier_in_the_features_neither_ruins_the_head_nor_its_promise(size):
    def world(n_samples, seed):
        rng = np.random.default_rng(seed)
        labels = rng.integers(4, size=n_samples)
        centers = np.random.default_rng(99).normal(size=(4, 10))
        logits = 2 * (rng.normal(size=(n_samples, 4)) + 1.3 * np.eye(4)[labels])
        return logits, labels, rng.normal(size=(n_samples, 10)) + 1.2 * centers[labels]

    logits, labels, features = world(250, 13)
    features[3, 2] = size
    head = AutoHead().fit(logits, labels, features=features)
    logits, labels, features = world(4000, 3)
    error = 1 - head.score(logits, labels, features=features)
    gain = 1 - error / np.mean(logits.argmax(axis=1) != labels)
    low, high = head.gain_interval_
    assert gain > 0.8
    assert low - 0.02 <= gain <= high + 0.02
