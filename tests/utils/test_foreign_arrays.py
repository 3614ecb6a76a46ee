"""Arrays of other libraries, and integers that numpy would take for floats."""

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array

from aftermax import AutoHead, SoftmaxClassifier, audit
from aftermax._utils.foreign_arrays import as_plain
from helpers.samples import make_samples

LOGITS, LABELS = make_samples(n_samples=90, n_classes=3)


def test_tensors_that_need_gradients_or_are_in_bfloat16_are_taken_as_they_are():
    torch = pytest.importorskip("torch")
    small = torch.tensor(LOGITS).bfloat16().requires_grad_()
    same = small.detach().float().numpy()
    head = SoftmaxClassifier().fit(small, torch.tensor(LABELS), sample_weight=torch.ones(90, requires_grad=True))
    np.testing.assert_array_equal(head.predict_proba(small), SoftmaxClassifier().fit(same, LABELS).predict_proba(same))
    assert small.requires_grad
    assert audit(small, LABELS, SoftmaxClassifier()).rows == 90
    with_features = AutoHead(cv=2).fit(LOGITS, LABELS, features=small)
    np.testing.assert_array_equal(
        with_features.predict(LOGITS, features=small), with_features.predict(LOGITS, features=same)
    )


def test_bfloat16_of_other_libraries_is_taken_too():
    types = pytest.importorskip("ml_dtypes")  # what JAX and TensorFlow give to numpy
    small = LOGITS.astype(types.bfloat16)
    head = SoftmaxClassifier().fit(small, LABELS)
    np.testing.assert_array_equal(head.predict(small), small.astype(np.float32).argmax(axis=1))


def test_double_precision_stays_as_it_is_wherever_it_is_kept(tmp_path):
    """Found by scikit-learn's checks: the name of float64 begins like those of types with six bits."""
    np.save(tmp_path / "logits.npy", LOGITS)
    for kept in (np.load(tmp_path / "logits.npy", mmap_mode="r"), pd.Series(LOGITS[:, 0]), csr_array(LOGITS)):
        assert as_plain(kept, "logits") is kept


def test_a_lazy_frame_is_told_apart_from_a_frame():
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame(LOGITS, schema=["a", "b", "c"])
    with pytest.raises(TypeError, match=r"logits is a LazyFrame, which holds no values yet: pass logits\.collect\(\)"):
        SoftmaxClassifier().fit(frame.lazy(), LABELS)
    assert SoftmaxClassifier().fit(frame, LABELS).score(frame, LABELS) > 0.3


@pytest.mark.parametrize("which", ["logits", "labels", "sample_weight", "features"])
def test_masked_values_are_refused_and_a_mask_that_masks_nothing_is_fine(which):
    given = {"logits": LOGITS, "labels": LABELS, "sample_weight": np.ones(90), "features": LOGITS}

    def fit(mask):
        masked = np.ma.masked_array(given[which], mask=np.zeros_like(given[which], dtype=bool))
        masked[3] = np.ma.masked if mask else masked[3]
        passed = given | {which: masked}
        logits, labels = passed.pop("logits"), passed.pop("labels")
        return AutoHead(cv=2).fit(logits, labels, **passed)

    assert fit(mask=False).classes_.tolist() == [0, 1, 2]
    with pytest.raises(ValueError, match=rf"^{which} is a masked array, in which \d values are masked: drop the"):
        fit(mask=True)


@pytest.mark.parametrize("kind", ["Int64", "UInt8", "boolean"])
def test_nullable_integers_of_pandas_stay_integers(kind):
    labels = LABELS > 0 if kind == "boolean" else LABELS
    columns = 2 if kind == "boolean" else 3
    head = SoftmaxClassifier().fit(LOGITS[:, :columns], pd.Series(labels, dtype=kind))
    assert head.classes_.dtype.kind in "biu"
    missing = pd.Series(labels, dtype=kind)
    missing[4] = pd.NA
    with pytest.raises(ValueError, match="NaN or None at row 4"):
        SoftmaxClassifier().fit(LOGITS[:, :columns], missing)


def test_integers_of_64_bits_without_sign_stay_what_they_are():
    """An attack found 2**63 and 2**63 + 1 taken for the same float."""
    names = [1, 2**63, 2**63 + 1]
    for labels in ([names[k] for k in LABELS], np.array(names, dtype=object)[LABELS]):
        head = SoftmaxClassifier().fit(LOGITS, labels)
        assert head.classes_.tolist() == names
        assert head.predict(LOGITS).tolist() == [names[k] for k in LOGITS.argmax(axis=1)]
    assert SoftmaxClassifier(classes=names).fit(LOGITS, labels).classes_.tolist() == names
    for large in (2**64, -(2**63) - 1):
        with pytest.raises(ValueError, match=f"labels hold {large}, which is no integer of 64 bits: make all labels"):
            SoftmaxClassifier().fit(LOGITS, [[1, 2, large][k] for k in LABELS])


def test_names_that_numpy_would_cut_are_refused():
    names = ["a", "a\0", "b"]
    for labels in ([names[k] for k in LABELS], np.array(names, dtype=object)[LABELS]):
        with pytest.raises(ValueError, match=r"labels hold 'a\\x00', which ends with a NUL character"):
            SoftmaxClassifier().fit(LOGITS, labels)


@pytest.mark.parametrize("shape", [(5, 3, 2, 3), (5, 6, 3)])
def test_pixels_and_words_get_the_recipe_and_the_caution(shape):
    with pytest.raises(ValueError, match=r"moveaxis\(logits, 1, -1\).*are not independent: pass groups="):
        SoftmaxClassifier().fit(LOGITS[:30].reshape(shape), LABELS)


def test_what_numpy_knows_is_not_copied():
    assert as_plain(LOGITS, "logits") is LOGITS
    frame = pd.DataFrame(LOGITS)
    assert as_plain(frame, "logits") is frame
