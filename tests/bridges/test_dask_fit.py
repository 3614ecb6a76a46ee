"""Heads fitted, and audits made, on dask arrays."""

import dask
import dask.array as da
import numpy as np
import pytest

import aftermax
from aftermax import AutoHead, Decider, SoftmaxClassifier, SPHClassifier, SPHClassifierCV
from aftermax.bridges import _dask_samples
from aftermax.bridges.dask import audit, drift, fit
from helpers.samples import make_samples, weak_samples

NAMES = np.array(["ant", "bee", "cat", "dog", "elk"])


@pytest.fixture(autouse=True)
def _one_at_a_time():
    with dask.config.set(scheduler="synchronous"):
        yield


def arrays(logits, labels, chunks=700):
    return da.from_array(logits, chunks=(chunks, 2)[: logits.ndim]), da.from_array(labels, chunks=chunks + 100)


def states(head):
    values, its_arrays = head.fitted_head_.to_state()
    return values, {name: array.tobytes() for name, array in its_arrays.items()}


# ---- SPHClassifier ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("center", ["mean", "median"])
def test_sph_is_the_head_that_is_fitted_in_memory(center):
    logits, codes = make_samples(n_samples=2500)
    expected = SPHClassifier(center=center).fit(logits, NAMES[codes])
    found = fit(SPHClassifier(center=center), *arrays(logits, NAMES[codes]))
    for name in ("center", "left", "right"):
        ours, theirs = getattr(found.response_array_, name), getattr(expected.response_array_, name)
        np.testing.assert_allclose(ours, theirs, rtol=1e-15)
    assert found.temperature_ == pytest.approx(expected.temperature_, rel=1e-9)
    np.testing.assert_array_equal(found.predict(logits), expected.predict(logits))
    assert found.classes_.tolist() == NAMES.tolist()
    assert found.reference_.fingerprint == expected.reference_.fingerprint


def test_a_fitted_head_can_be_saved_and_checked(tmp_path):
    logits, codes = make_samples(n_samples=2500)
    head = fit(SPHClassifier(), *arrays(logits, codes))
    aftermax.save(head, tmp_path / "head.npz")
    loaded = aftermax.load(tmp_path / "head.npz")
    np.testing.assert_array_equal(loaded.predict_proba(logits), head.predict_proba(logits))
    assert aftermax.check(loaded, logits).fitted_on_share == 1.0


def test_one_logit_for_each_sample():
    rng = np.random.default_rng(0)
    labels = rng.integers(2, size=1000)
    logits = rng.normal(size=1000) + labels
    expected = SPHClassifier().fit(logits, labels)
    for given in (logits, logits[:, None]):
        found = fit(SPHClassifier(), *arrays(given, labels, chunks=300))
        assert found.n_features_in_ == 1
        np.testing.assert_allclose(found.predict_proba(logits), expected.predict_proba(logits), rtol=1e-9)


def test_chunks_of_unknown_length():
    logits, codes = make_samples(n_samples=1500)
    x, y = arrays(logits, codes)
    kept = x[:, 0] > -1
    expected = SPHClassifier().fit(logits[logits[:, 0] > -1], codes[logits[:, 0] > -1])
    y = y.rechunk(x.chunks[0])
    np.testing.assert_array_equal(fit(SPHClassifier(), x[kept], y[kept]).predict(logits), expected.predict(logits))


# ---- heads that are fitted on a random part --------------------------------------------------------------------------


def test_few_samples_give_the_head_of_the_fit_in_memory_bit_for_bit():
    logits, codes = weak_samples(300)
    for head in (AutoHead(cv=2, budget="fast"), SoftmaxClassifier(), SPHClassifierCV({"certainty": [0.8]}, cv=2)):
        found = fit(head, *arrays(logits, codes, chunks=70))
        assert states(found) == states(head.fit(logits, codes))
        assert not hasattr(found, "held_out_")
        assert found.classes is None


def test_auto_head_with_features_is_fitted_on_a_random_part_of_many_samples_and_says_so(monkeypatch):
    monkeypatch.setattr(_dask_samples, "MAX_SAMPLES", 300)
    logits, codes = weak_samples(1000)
    codes[:5] = 4
    features = da.from_array(np.hstack([logits, logits**2])[:, :6], chunks=(90, 3))
    head = AutoHead(cv=2, budget="fast")
    with pytest.warns(UserWarning, match="AutoHead is fitted on 300 of the 1,000 samples"):
        found = fit(head, *arrays(logits, codes), features=features)
    with pytest.warns(UserWarning, match="drawn at random"):
        again = fit(head, *arrays(logits, codes, chunks=210), features=features)
    assert states(again) == states(found)
    assert found.features_width_ == 6
    assert found.reference_.n_samples == 1000
    np.testing.assert_array_equal(found.class_shares_, np.bincount(codes) / 1000)


def test_sph_cv_chooses_on_a_random_part_and_is_fitted_on_all(monkeypatch):
    monkeypatch.setattr(_dask_samples, "MAX_SAMPLES", 600)
    logits, codes = weak_samples(2000)
    with pytest.warns(UserWarning, match="SPHClassifierCV is fitted on 600"):
        found = fit(SPHClassifierCV({"certainty": [0.7, 0.9]}, cv=2), *arrays(logits, codes))
    assert not found.fell_back_
    expected = SPHClassifier(**found.best_params_).fit(logits, codes)
    np.testing.assert_allclose(found.predict_proba(logits), expected.predict_proba(logits), rtol=1e-9)


# ---- audit -----------------------------------------------------------------------------------------------------------


def test_an_audit_of_few_samples_is_that_in_memory():
    logits, codes = weak_samples(300)
    head = AutoHead(cv=2, budget="fast")
    assert audit(*arrays(logits, codes, chunks=70), head) == aftermax.audit(logits, codes, head)


def test_an_audit_of_many_samples_counts_all_of_them(monkeypatch):
    monkeypatch.setattr(_dask_samples, "MAX_SAMPLES", 300)
    logits, codes = weak_samples(1000)
    with pytest.warns(UserWarning, match="300 of the 1,000 samples"):
        found = audit(*arrays(logits, codes), AutoHead(cv=2, budget="fast"))
    softmax = logits.argmax(axis=1)
    assert found.rows == 1000
    assert found.error_before == pytest.approx(np.mean(softmax != codes))
    assert [one.rows for one in found.by_class] == np.bincount(codes).tolist()
    # The head predicts the 700 samples that it has not seen; the others are predicted out-of-fold.
    from_head = found.head.predict(logits) == codes
    assert found.error_after == pytest.approx(1 - from_head.mean(), abs=0.3 * found.error_before)
    assert found.error_before - found.error_after == pytest.approx((found.wins - found.losses) / 1000)
    assert sum(one.wins for one in found.by_class) == found.wins > found.losses
    assert found.gain == found.head.gain_
    assert any("300 of the 1,000" in one for one in found.warnings)
    assert "1,000" in str(found)


# ---- drift -----------------------------------------------------------------------------------------------------------


def test_drift_is_that_of_a_check(validation, unseen):
    head = SPHClassifier().fit(*validation)
    for logits in (unseen[0], unseen[0] * 3 + np.arange(5)):
        found, expected = drift(head, da.from_array(logits, chunks=(70, 2))), aftermax.check(head, logits).drift
        assert (found.n_fitted, found.n_samples, found.drifted) == (400, 400, expected.drifted)
        for one, two in zip(found.changes, expected.changes, strict=True):
            assert one[:2] == two[:2]
            np.testing.assert_allclose(one[2:], two[2:], rtol=1e-9, atol=1e-12)
    with pytest.raises(ValueError, match="3 columns but the head has 5 classes"):
        drift(head, da.zeros((10, 3), chunks=5))


# ---- what is refused -------------------------------------------------------------------------------------------------


def test_errors_name_the_sample(validation):
    logits, codes = (part.copy() for part in validation)
    logits[321, 2] = np.nan
    with pytest.raises(ValueError, match="NaN at row 321, column 2"):
        fit(SPHClassifier(), *arrays(logits, codes, chunks=100))
    labels = validation[1].astype(float)
    for value, says in ((np.nan, "NaN or None at row 250"), (0.5, "0.5 at row 250 is not a class")):
        labels[250] = value
        with pytest.raises(ValueError, match=f"of samples 200 to 299: .*{says}"):
            fit(SPHClassifier(), *arrays(validation[0], labels, chunks=100))


@pytest.mark.parametrize(("value", "says"), [(np.nan, "nan"), (-np.inf, "-inf"), (1e101, r"1e\+101")])
@pytest.mark.parametrize("chunks", [70, 100])
def test_errors_about_features_name_the_sample_however_samples_are_drawn(validation, chunks, value, says, monkeypatch):
    monkeypatch.setattr(_dask_samples, "MAX_SAMPLES", 50)  # also of a sample that would not be drawn
    logits, codes = validation
    features = logits.copy()
    features[321, 2] = value
    for function in (lambda *given, **named: fit(AutoHead(), *given, **named), audit):
        with pytest.raises(ValueError, match=f"features contain {says} at row 321, column 2: drop such samples"):
            function(*arrays(logits, codes, chunks), features=da.from_array(features, chunks=(chunks, 2)))


def masked(values, chunks):
    """A dask array in which sample 321 is masked."""
    mask = np.zeros(values.shape, dtype=bool)
    mask[321] = True
    return da.from_array(np.ma.masked_array(values, mask), chunks=chunks, asarray=False)


def test_masked_values_are_refused_as_in_memory(validation):
    logits, codes = validation
    x, y = arrays(logits, codes, chunks=100)
    hidden, classes = masked(logits, (150, 3)), masked(codes, 150)
    head = SPHClassifier().fit(logits, codes)
    for what, function in {
        "logits": lambda: fit(SPHClassifier(), hidden, y),
        "labels": lambda: fit(SPHClassifier(), x, classes),
        "features": lambda: fit(AutoHead(), x, y, features=hidden),
    }.items():
        with pytest.raises(ValueError, match=f"of {what} of samples 3.* to 399: {what} is a masked array, in which"):
            function()
    for function in (
        lambda: audit(hidden, y),
        lambda: audit(x, classes),
        lambda: audit(x, y, features=hidden),
        lambda: drift(head, hidden),
    ):
        with pytest.raises(ValueError, match="is a masked array"):
            function()


def test_a_mask_that_masks_nothing_is_no_matter(validation):
    logits, codes = validation
    nothing = da.from_array(np.ma.masked_array(logits), chunks=(100, 5), asarray=False)
    x, y = arrays(logits, codes, chunks=100)
    assert states(fit(SPHClassifier(), nothing, y)) == states(fit(SPHClassifier(), x, y))


@pytest.mark.parametrize("shape", [(400,), (400, 5, 1), (400, 0)])
def test_features_that_are_no_rows_are_refused(validation, shape):
    x, y = arrays(*validation, chunks=100)
    for function in (
        lambda: fit(AutoHead(), x, y, features=da.zeros(shape)),
        lambda: audit(x, y, features=da.zeros(shape)),
    ):
        with pytest.raises(
            ValueError, match=r"features have shape \(400,.*: pass an array of shape \(n_samples, n_features"
        ):
            function()


@pytest.mark.parametrize("shape", [(), (400, 5), (400, 1, 1)])
def test_labels_that_are_not_one_for_each_sample_are_refused(validation, shape):
    x, _ = arrays(*validation, chunks=100)
    with pytest.raises(
        ValueError, match=r"y should be a 1d array, got an array of shape .* one class per sample"
    ) as told:
        fit(SPHClassifier(), x, da.zeros(shape))
    assert str(shape) in str(told.value)
    assert ("one-hot" in str(told.value)) == (shape == (400, 5))


def test_labels_in_one_column_are_warned_of_once(validation):
    x, y = arrays(*validation, chunks=100)
    with pytest.warns(UserWarning, match=r"labels are one column, .* pass labels\[:, 0\]") as caught:
        found = fit(SPHClassifier(), x, y[:, None])
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert states(found) == states(fit(SPHClassifier(), x, y))


def test_what_cannot_be_fitted_is_refused(validation):
    x, y = arrays(*validation, chunks=100)
    with pytest.raises(TypeError, match="Decider cannot be fitted on dask arrays"):
        fit(Decider(costs=1 - np.eye(5)), x, y)
    with pytest.raises(TypeError, match="takes no features"):
        fit(SPHClassifier(), x, y, features=x)
    with pytest.raises(ValueError, match="class_weight"):
        fit(SPHClassifier(class_weight="balanced"), x, y)
    with pytest.raises(TypeError, match="logits are of type ndarray: pass a dask array"):
        fit(SPHClassifier(), validation[0], y)
    with pytest.raises(ValueError, match="logits 400, labels 399"):
        fit(SPHClassifier(), x, y[1:])
    with pytest.raises(TypeError, match="SPHClassifier has no out-of-fold predictions"):
        audit(x, y, SPHClassifier())
    mixed = da.concatenate([y[:200].astype(object), y[200:].astype(str).astype(object)])
    with pytest.raises(ValueError, match="text in some chunks and numbers in others"):
        fit(SPHClassifier(), x, mixed)


@pytest.mark.parametrize("chunks", [(400, 100), (499, 1), (490, 10)])
def test_outputs_of_a_sigmoid_are_refused_whatever_the_chunks(chunks):
    rng = np.random.default_rng(0)
    outputs = rng.random(500)
    labels = (rng.random(500) < outputs).astype(int)
    with pytest.raises(ValueError, match="look like probabilities of one class"):
        fit(SPHClassifier(), da.from_array(outputs, chunks=(chunks,)), da.from_array(labels, chunks=500))


def test_probabilities_are_warned_of_once(validation):
    logits, codes = validation
    p = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    with pytest.warns(UserWarning, match="look like probabilities") as caught:
        fit(SPHClassifier(), *arrays(p, codes, chunks=100))
    assert len(caught) == 1
