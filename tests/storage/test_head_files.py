"""Head files: what is saved comes back with the same predictions, and no file can do harm.

The files in tests/storage/files are of every format so far, and every later aftermax must go on reading them: they are
never made anew. For a new format, add files of its own beside them, with

    cd tests && python -c "from helpers.head_files import make_heads; make_heads()"
"""

import json
from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression

from aftermax import AutoHead, PostHocClassifier, SPHClassifier, SPHClassifierCV, load, save
from aftermax.storage import _archive
from aftermax.storage import head_files as storage
from aftermax.storage._archive import VERSION, write_archive
from aftermax.storage._schema import to_content
from helpers.head_files import (
    HEADS,
    VERSIONED,
    assert_same,
    auto_heads,
    inputs_of,
    named,
    predictions_of,
    sph_heads,
    weak,
)


@pytest.fixture(scope="module")
def heads():
    return dict([*sph_heads(), *auto_heads()])


def saved(head, tmp_path):
    save(head, tmp_path / "head")
    return load(tmp_path / "head")


# ---- what is saved comes back ----------------------------------------------------------------------------------------


def test_every_kind_of_head_comes_back_with_the_same_predictions(heads, tmp_path):
    for name, head in heads.items():
        loaded = saved(head, tmp_path)
        assert type(loaded) is type(head), name
        assert_same(head, loaded)
        assert hasattr(loaded, "feature_names_in_") == hasattr(head, "feature_names_in_")
        assert not hasattr(loaded, "held_out_")
    assert {head.chosen_ for head in heads.values() if isinstance(head, AutoHead)} >= {"softmax", "combination", "sph"}


def test_what_describes_a_head_comes_back(heads, tmp_path):
    sph = saved(heads["sph of a data frame"], tmp_path)
    assert sph.feature_names_in_.tolist() == ["ant", "bée", "cat"]
    assert repr(sph.response_array_) == repr(heads["sph of a data frame"].response_array_)
    auto = saved(heads["auto of strings"], tmp_path)
    assert auto.feature_names_in_.dtype == object
    assert repr(auto.candidates_) == repr(heads["auto of strings"].candidates_)
    cv = saved(heads["cv of a list"], tmp_path)
    assert cv.best_estimator_.feature_names_in_.tolist() == ["ant", "bée", "cat"]
    assert cv.best_estimator_.get_params() == heads["cv of a list"].best_estimator_.get_params()


def test_parameters_come_back_and_a_loaded_head_can_be_fitted_again(heads, tmp_path):
    logits, labels = weak()
    for name in ("sph", "cv of a list", "auto balanced"):
        loaded = saved(heads[name], tmp_path)
        assert_same(clone(loaded).fit(named(logits) if name == "cv of a list" else logits, labels), loaded)
    assert saved(heads["sph"], tmp_path).get_params() == heads["sph"].get_params()
    assert saved(heads["auto balanced"], tmp_path).classes == [0, 1, 2]
    assert saved(heads["auto of strings"], tmp_path).class_weight == {"ant": 2.0, "cat": 0.5}
    assert saved(heads["auto of float32"], tmp_path).class_weight == {1: 3}
    assert saved(heads["auto with a prior"], tmp_path).class_prior == {0: 0.5, 1: 0.3, 2: 0.2}
    shares = saved(heads["auto with shares"], tmp_path)
    assert (shares.class_prior, shares.only_proven) == ([0.5, 0.3, 0.2], True)
    assert saved(heads["auto with a splitter"], tmp_path).cv is None
    cv = saved(heads["cv"], tmp_path)
    assert cv.random_state is None
    assert cv.grid == {"certainty": [0.5, 0.9], "veto_distance": [2, np.inf], "veto_count": [1, 2]}


def test_the_fitted_head_is_saved_also_if_parameters_were_changed_after_the_fit(tmp_path):
    head = SPHClassifier(veto_distance=2.0).fit(*weak())
    before = predictions_of(head)
    head.set_params(certainty=0.1, veto_distance=np.inf, distance_power=1.0)
    loaded = saved(head, tmp_path)
    assert loaded.get_params() == head.get_params()
    for one, other in zip(before, predictions_of(loaded), strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_correction_without_kernels_comes_back(heads, tmp_path):
    head = AutoHead(cv=2).fit(*weak())
    (terms,) = head.fitted_head_.terms
    without_kernels = replace(terms, coefficients=terms.coefficients[:0], used=terms.used[:0])
    head.fitted_head_ = replace(head.fitted_head_, terms=(without_kernels,))
    assert_same(head, saved(head, tmp_path))


def test_arrays_lie_in_memory_as_they_did(heads, tmp_path):
    """For products may be rounded by that."""
    head = heads["auto with features"]
    for one in (head, saved(head, tmp_path)):
        assert [terms.exponents.flags.c_contiguous for terms in one.fitted_head_.terms] == [True, True]


def test_numpy_shows_the_arrays_and_json_is_strict(heads, tmp_path):
    save(heads["sph"], tmp_path / "head.npz")
    with np.load(tmp_path / "head.npz", allow_pickle=False) as arrays:
        np.testing.assert_array_equal(arrays["center"], heads["sph"].response_array_.center)
        described = json.loads(arrays["head.json"], parse_constant=pytest.fail)
    found = [described[name] for name in ("format", "format_version", "estimator")]
    assert found == ["aftermax head", VERSION, "SPHClassifier"]
    assert described["arrays"]["trusted"] == {"dtype": "|b1", "shape": [3], "by_columns": False}


def test_the_same_head_gives_the_same_bytes(heads, tmp_path):
    for name, head in heads.items():
        save(head, tmp_path / "one")
        save(load(tmp_path / "one"), str(tmp_path / "two.suffix"))
        assert (tmp_path / "one").read_bytes() == (tmp_path / "two.suffix").read_bytes(), name
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one", "two.suffix"]


def test_what_the_command_notes_of_the_scores_comes_back(heads, tmp_path):
    head, path = heads["sph of strings"], tmp_path / "head.npz"
    for noted in (
        storage.FittedOn(),
        storage.FittedOn(probabilities=True),
        storage.FittedOn(columns=("z0", "z1", "z2")),
        storage.FittedOn(probabilities=True, columns=("p0", "p1", "p2")),
    ):
        storage.write_head(head, path, noted)
        loaded, found = storage.read_head(path)
        assert found == noted
        assert_same(head, loaded)
        assert_same(head, load(path))
    with np.load(path) as arrays:
        described = json.loads(arrays["head.json"])
    assert described["scores"] == {"kind": "probabilities", "columns": ["p0", "p1", "p2"]}


@pytest.mark.parametrize(
    ("noted", "words"),
    [
        (None, "the note about the scores is missing"),
        ({"kind": "logits"}, "the note about the scores has missing or unknown fields: 'columns'"),
        ({"kind": "ranks", "columns": None}, "the kind of scores is 'ranks', which is not known"),
        ({"kind": "logits", "columns": ["a"]}, "the list of columns is not a list of 3"),
        ({"kind": "logits", "columns": ["a", "b", 1]}, "the list of columns holds something other than strings"),
        ({"kind": "logits", "columns": ["a", "b", "a"]}, "the list of columns names one twice"),
    ],
)
def test_what_a_file_says_of_the_scores_is_checked(heads, tmp_path, noted, words):
    content = to_content(heads["sph"])
    content.values["scores"] = noted
    write_archive(tmp_path / "head", content)
    with pytest.raises(ValueError, match=f"is damaged: {words}"):
        load(tmp_path / "head")


# ---- old files -------------------------------------------------------------------------------------------------------


def test_files_of_all_kinds_are_kept_for_later_versions():
    kinds = {type(load(HEADS / f"{name}.npz")).__name__ for name in VERSIONED}
    assert kinds == {"AutoHead", "SPHClassifier", "SPHClassifierCV"}
    assert {name.split("-")[0] for name in VERSIONED} == {f"v{version}" for version in range(1, VERSION + 1)}


@pytest.mark.parametrize("name", VERSIONED)
def test_old_files_give_the_predictions_they_gave(name):
    version, kind = name.split("-")
    head = load(HEADS / f"{name}.npz")
    with np.load(HEADS / f"answers-{version}.npz") as expected:
        inputs = inputs_of(head, expected["logits"], expected["features"])
        np.testing.assert_array_equal(head.predict(*inputs), expected[f"{kind} classes"])
        np.testing.assert_allclose(
            head.predict_proba(*inputs), expected[f"{kind} probabilities"], rtol=1e-9, atol=1e-12
        )


@pytest.mark.parametrize("version", ["v1", "v2"])
def test_an_older_head_says_what_it_says_in_the_terms_of_today(version):
    kept, accepted, sph = (load(HEADS / f"{version}-{name}.npz") for name in ("softmax", "features", "strings"))
    assert (kept.chosen_, kept.trust_, kept.proven_) == ("softmax", 0.0, False)
    assert (kept.gain_, kept.gain_interval_, kept.gain_prediction_interval_) == (0.0, (0.0, 0.0), (0.0, 0.0))
    assert (accepted.chosen_, accepted.trust_, accepted.proven_) == ("combination", 1.0, True)
    assert accepted.gain_interval_ == accepted.gain_prediction_interval_
    assert sph.proven_ is not sph.fell_back_
    assert "gaussian" in accepted.candidates_
    assert all(head.reference_ is None for head in (kept, accepted, sph))
    assert accepted.class_shares_ is None


def test_an_older_head_is_saved_in_the_format_of_today(tmp_path):
    older = load(HEADS / "v1-features.npz")
    assert_same(older, saved(older, tmp_path))


# ---- what cannot be saved --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("head", [AutoHead(), SPHClassifier(), SPHClassifierCV()])
def test_a_head_that_is_not_fitted_is_not_saved(head, tmp_path):
    with pytest.raises(NotFittedError, match=r"is not fitted yet: call fit before you save it"):
        save(head, tmp_path / "head")
    assert not list(tmp_path.iterdir())


def test_other_models_are_not_saved(tmp_path):
    with pytest.raises(TypeError, match="LogisticRegression cannot be saved: pass a fitted AutoHead, SPHClassifier"):
        save(LogisticRegression(), tmp_path / "head")
    with pytest.raises(TypeError, match="save its head_, and save the model"):
        save(PostHocClassifier(LogisticRegression()), tmp_path / "head")
    assert not list(tmp_path.iterdir())


def test_what_cannot_be_plain_is_refused_and_the_old_file_is_untouched(tmp_path):
    (tmp_path / "head").write_bytes(b"old")
    logits, labels = weak()
    days = np.array(["2026-01-01", "2026-01-02", "2026-01-03"], dtype="datetime64[D]")
    head = SPHClassifier().fit(logits, labels)
    head.classes_ = days
    with pytest.raises(TypeError, match=r"Classes of type datetime64\[D\] cannot be saved: fit .* strings or integers"):
        save(head, tmp_path / "head")
    with pytest.raises(TypeError, match="of type object, is among the parameters and cannot be saved"):
        save(SPHClassifier().fit(logits, labels).set_params(certainty=object()), tmp_path / "head")
    head = SPHClassifier().fit(logits, labels)
    head.fitted_head_ = replace(head.fitted_head_, weights=head.weights_ - 1)
    with pytest.raises(
        ValueError, match="This head cannot be saved, as the array weights holds values that are too low"
    ):
        save(head, tmp_path / "head")
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("head", b"old")]


def test_a_folder_that_is_not_there_is_not_made(heads, tmp_path):
    with pytest.raises(FileNotFoundError, match=r"cannot be written: folder .*new is not there"):
        save(heads["sph"], tmp_path / "new" / "head.npz")
    assert not list(tmp_path.iterdir())


def test_what_is_too_large_is_not_saved(tmp_path, monkeypatch):
    monkeypatch.setattr(_archive, "MAX_BYTES", 1000)
    with pytest.raises(ValueError, match="This head is too large to be saved: a head file has at most 1,000 bytes"):
        save(SPHClassifier().fit(*weak()), tmp_path / "head")
    assert not list(tmp_path.iterdir())
