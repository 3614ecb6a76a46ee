"""AutoHead with many classes: what it gains, when it keeps softmax, and that it is as dependable as with few."""

import warnings

import numpy as np
import pytest
from sklearn.model_selection import KFold

import aftermax
from aftermax import AutoHead
from aftermax._many.fitting import CLASS_MEANS, DISCRIMINANTS
from aftermax.bridges.onnx import agreement, to_onnx
from helpers.many_classes import calibrated_world, confusing_world, correlated_world

pytestmark = pytest.mark.filterwarnings("ignore:Fewer than 10 labelled samples:UserWarning")


@pytest.fixture(scope="module")
def confusing():
    return confusing_world()


@pytest.fixture(scope="module")
def correlated():
    return correlated_world()


@pytest.fixture(scope="module")
def head(confusing):
    return fitted(confusing, budget="fast")


@pytest.fixture(scope="module")
def dense_head(correlated):
    return fitted(correlated)


def fitted(world, rows=slice(None), n_classes=300, **parameters):
    head = AutoHead(classes=np.arange(n_classes), **parameters)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of classes with few labels
        return head.fit(world.logits[rows], world.labels[rows])


# ---- gains -----------------------------------------------------------------------------------------------------------


def test_patterns_of_errors_are_found_by_class_means(head, confusing):
    assert head.chosen_ == CLASS_MEANS
    assert head.proven_
    gain = 1 - confusing.error(head.predict(confusing.test_logits)) / confusing.softmax_error
    assert gain > 0.3
    assert head.gain_interval_[0] < gain


@pytest.mark.parametrize("value", [1e19, 1e60])
def test_a_logit_that_is_far_off_ruins_nothing(confusing, value):
    logits = confusing.logits[:600].copy()
    logits[7, 3] = value
    head = AutoHead(cv=2, classes=np.arange(300), progress=False).fit(logits, confusing.labels[:600])
    assert confusing.error(head.predict(confusing.test_logits)) <= confusing.softmax_error
    assert np.isfinite(head.predict_proba(logits)).all()


@pytest.mark.parametrize(("n_samples", "others", "strength", "count"), [(900, 10, 1.0, 64), (6_000, 150, 0.4, 256)])
def test_with_many_labels_and_wide_patterns_more_scores_are_compared(n_samples, others, strength, count):
    world = confusing_world(n_samples=n_samples, others=others, strength=strength)
    head = AutoHead(budget="fast", cv=2, classes=np.arange(300), progress=False).fit(world.logits, world.labels)
    assert head.fitted_head_.means.count == count
    assert world.error(head.predict(world.test_logits)) < world.softmax_error / 10


def test_common_noise_is_removed_by_a_discriminant(dense_head, correlated):
    assert dense_head.chosen_ == DISCRIMINANTS
    gain = 1 - correlated.error(dense_head.predict(correlated.test_logits)) / correlated.softmax_error
    assert gain > 0.5
    assert set(dense_head.weights_) == {"logits", "class means", "discriminant"}


def test_a_fast_budget_has_no_discriminant(head):
    assert not any(name.startswith(DISCRIMINANTS) for name in head.candidates_)


def test_softmax_is_kept_where_there_is_nothing_to_gain():
    taken = []
    for seed in range(3):
        world = calibrated_world(seed=seed)
        head = fitted(world)
        assert not head.proven_
        taken.append(world.error(head.predict(world.test_logits)) - world.softmax_error)
    assert np.mean(taken) < 0.005


def test_features_are_used(confusing):
    rng = np.random.default_rng(3)
    centers = rng.normal(size=(300, 8))
    hidden, new = (centers[labels] + 0.3 * rng.normal(size=(len(labels), 8)) for labels in confusing[1::2])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        head = AutoHead(classes=np.arange(300), budget="fast").fit(confusing.logits, confusing.labels, features=hidden)
    assert head.chosen_ == DISCRIMINANTS
    assert "discriminant of features" in head.weights_
    without = fitted(confusing, budget="fast")
    error = confusing.error(head.predict(confusing.test_logits, features=new))
    assert error < 0.8 * confusing.error(without.predict(confusing.test_logits))
    with pytest.raises(ValueError, match="fitted with features"):
        head.predict(confusing.test_logits)


# ---- few labels ------------------------------------------------------------------------------------------------------


def test_classes_that_happen_to_have_no_label_keep_their_recall(confusing):
    few = slice(400)
    head = fitted(confusing, few, budget="fast")
    unlabelled = ~np.isin(confusing.test_labels, confusing.labels[few])
    assert 0.1 < unlabelled.mean() < 0.5
    before = np.mean(confusing.test_logits.argmax(axis=1)[unlabelled] == confusing.test_labels[unlabelled])
    after = np.mean(head.predict(confusing.test_logits)[unlabelled] == confusing.test_labels[unlabelled])
    assert after > before - 0.05


def test_classes_that_nobody_labelled_keep_their_chance_if_asked_for(confusing):
    kept = confusing.labels < 150
    new = confusing.test_labels >= 150
    recall = {}
    for keep in (False, True):
        head = fitted(confusing, kept, budget="fast", keep_unlabelled=keep)
        recall[keep] = np.mean(head.predict(confusing.test_logits)[new] == confusing.test_labels[new])
    before = np.mean(confusing.test_logits.argmax(axis=1)[new] == confusing.test_labels[new])
    assert recall[True] > recall[False]
    assert recall[True] > 0.7 * before


def test_what_is_promised_with_one_label_a_class_is_hardly_too_low():
    """Class means of nearly all samples predict each one; with folds that are given, they are of nine tenths."""
    missed, missed_by_folds, held = [], [], 0
    for seed in range(4):
        world = confusing_world(n_samples=300, seed=seed)
        head = fitted(world, budget="fast")
        folds = fitted(world, budget="fast", cv=KFold(10, shuffle=True, random_state=seed))
        gain = 1 - world.error(head.predict(world.test_logits)) / world.softmax_error
        missed.append(gain - head.gain_)
        missed_by_folds.append(gain - folds.gain_)
        held += head.gain_interval_[0] <= gain <= head.gain_interval_[1]
    assert -0.02 < np.mean(missed) < 0.03 < np.mean(missed_by_folds)
    assert held >= 3


@pytest.mark.parametrize("n_samples", [2, 5, 40])
def test_a_handful_of_samples_is_enough_to_keep_softmax(confusing, n_samples):
    head = fitted(confusing, slice(n_samples))
    assert head.predict_proba(confusing.test_logits[:5]).shape == (5, 300)
    assert np.isfinite(head.predict_proba(confusing.test_logits[:5])).all()


# ---- the same result for the same samples ----------------------------------------------------------------------------


def test_neither_order_nor_threads_nor_precision_of_the_file_matter(head, confusing, tmp_path):
    order = np.random.default_rng(0).permutation(len(confusing.labels))
    shuffled = AutoHead(classes=np.arange(300), budget="fast", n_jobs=1).fit(
        confusing.logits[order], confusing.labels[order]
    )
    expected = head.predict_proba(confusing.test_logits)
    np.testing.assert_array_equal(shuffled.predict_proba(confusing.test_logits), expected)
    np.save(tmp_path / "logits.npy", confusing.logits)
    mapped = AutoHead(classes=np.arange(300), budget="fast").fit(
        np.load(tmp_path / "logits.npy", mmap_mode="r"), confusing.labels
    )
    np.testing.assert_array_equal(mapped.predict_proba(confusing.test_logits), expected)


def test_half_precision_is_taken_as_it_is(head, confusing):
    half = confusing.logits.astype(np.float16)
    other = fitted(confusing._replace(logits=half), budget="fast")
    assert other.chosen_ == head.chosen_
    assert (
        np.mean(other.predict(confusing.test_logits.astype(np.float16)) == head.predict(confusing.test_logits)) > 0.95
    )


def test_weights_are_as_good_as_copies_in_groups(confusing):
    weights = np.where(np.arange(len(confusing.labels)) % 3 == 0, 2.0, 1.0)
    head = AutoHead(classes=np.arange(300), budget="fast")
    head.fit(confusing.logits, confusing.labels, sample_weight=weights)
    assert head.candidates_.weighted
    assert confusing.error(head.predict(confusing.test_logits)) < confusing.softmax_error


def test_groups_are_held_out_as_a_whole(confusing):
    """Each sample six times, with a little noise: without groups, every fold would know its samples."""
    rng = np.random.default_rng(4)
    rows = np.repeat(np.arange(150), 6)
    logits = rng.normal(size=(150, 300))[rows] + 0.01 * rng.normal(size=(900, 300))
    labels = rng.integers(300, size=150)[rows]
    head = AutoHead(classes=np.arange(300), budget="fast").fit(logits, labels, groups=rows)
    assert not head.proven_


def test_copies_are_held_out_as_a_whole():
    rng = np.random.default_rng(4)
    rows = np.repeat(np.arange(150), 6)
    logits, labels = rng.normal(size=(150, 300))[rows], rng.integers(300, size=150)[rows]
    with pytest.warns(UserWarning, match="identical"):
        head = AutoHead(classes=np.arange(300), budget="fast").fit(logits, labels)
    assert not head.proven_


# ---- shipping --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("which", ["head", "dense_head"])
def test_a_saved_head_predicts_the_same(which, request, confusing, tmp_path):
    head = request.getfixturevalue(which)
    aftermax.save(head, tmp_path / "head.npz")
    again = aftermax.load(tmp_path / "head.npz")
    assert again.chosen_ == head.chosen_
    np.testing.assert_array_equal(again.predict_proba(confusing.test_logits), head.predict_proba(confusing.test_logits))


@pytest.mark.parametrize("which", ["head", "dense_head"])
@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_onnx_predicts_as_python(which, precision, request, confusing):
    head = request.getfixturevalue(which)
    model = to_onnx(head, precision=precision)
    counted = agreement(model, head, confusing.test_logits[:500].astype(np.float32))
    assert counted.differing == 0
    assert counted.same >= 498


def test_bridges_keep_class_means_sparse(head):
    """A dense array of all pairs of classes would be 175 MB in single precision with 6,623 classes."""
    _, constants = head.fitted_head_.formula()
    assert sum(values.size for values in constants.values()) < 2 * 70 * 300


def test_torch_and_keras_predict_as_python(head, confusing):
    torch, bridge = pytest.importorskip("torch"), pytest.importorskip("aftermax.bridges.torch")
    keras_bridge = pytest.importorskip("aftermax.bridges.keras")
    some = confusing.test_logits[:200].astype(np.float32)
    expected = head.predict_proba(some)
    logs = bridge.Head.from_fitted(head)(torch.tensor(some)).detach().numpy()
    np.testing.assert_allclose(np.exp(logs), expected, atol=1e-3)
    layer = keras_bridge.Head.from_fitted(head)
    np.testing.assert_allclose(np.exp(np.asarray(layer(some).detach().cpu())), expected, atol=1e-3)


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("means_begins", lambda values: values[::-1].copy(), "does not divide"),
        ("means_classes", lambda values: values + 300, "not among the 300"),
        ("means_entries", lambda values: values * np.nan, "not finite"),
        ("means_unit_weights", lambda values: -values, "too low"),
    ],
)
def test_a_damaged_head_file_is_refused(head, name, change, message):
    from aftermax._heads.protocol import InputShape
    from aftermax._utils.untrusted import Arrays

    values, arrays = head.fitted_head_.to_state()
    arrays[name] = change(arrays[name])
    with np.errstate(invalid="ignore"), pytest.raises(ValueError, match=message):
        type(head.fitted_head_).from_state(values, Arrays(arrays), InputShape(np.arange(300)))
