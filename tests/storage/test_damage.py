"""Files that are no head files, damaged ones, and ones made to do harm: refused, and never with a crash."""

import io
import json
import struct
import tracemalloc
import warnings
import zipfile

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aftermax import AutoHead, SoftmaxClassifier, SPHClassifier, adapt_priors, load, save
from helpers.head_files import HEADS, VERSIONED, assert_same, features_of, predictions_of, weak


@pytest.fixture(scope="module")
def contents(tmp_path_factory):
    """Files with SPH, with a combination with features, with one that kept softmax, and of older formats, as bytes."""
    logits, labels = weak()
    heads = [
        SPHClassifier(certainty=1.0, veto_distance=3.0).fit(logits, labels),
        AutoHead(cv=2).fit(logits, labels, features_of(labels)),
        AutoHead(alpha=0.0, only_proven=True, class_weight={1: 2.0}, cv=2).fit(logits, labels),
    ]
    adapted = adapt_priors(SoftmaxClassifier().fit(logits, labels), logits[labels > 0], guard=False)
    path = tmp_path_factory.mktemp("heads") / "head"
    save(adapted, path)
    last = [path.read_bytes()]
    found = []
    for head in heads:
        save(head, path)
        found.append(path.read_bytes())
    return found + [(HEADS / f"{name}.npz").read_bytes() for name in VERSIONED] + last


# ---- what is not a head file -----------------------------------------------------------------------------------------


def refused(content, tmp_path):
    """What load says to these bytes."""
    path = tmp_path / "some head"
    path.write_bytes(content)
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        load(path)
    assert str(caught.value).startswith(str(path))
    return str(caught.value).removeprefix(f"{path} ")


def npz(**arrays):
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


def repacked(content, members=None, described=None, drop=(), method=zipfile.ZIP_STORED):
    """The file with other members, or another description."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        inside = {name: archive.read(name) for name in archive.namelist() if name not in drop}
    if described is not None:
        inside["head.json"] = json.dumps(json.loads(inside["head.json"]) | described).encode()
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        for name, data in [*inside.items(), *(members or {}).items()]:
            archive.writestr(name, data)
    return file.getvalue()


def with_array(content, name, array):
    """The file with another array, declared as it is."""
    file = io.BytesIO()
    np.save(file, array)
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        declared = json.loads(archive.read("head.json"))["arrays"]
    declared[name] = {"dtype": array.dtype.str, "shape": list(array.shape), "by_columns": False}
    return repacked(content, {f"{name}.npy": file.getvalue()}, {"arrays": declared}, drop=[f"{name}.npy"])


@pytest.fixture
def content(contents):
    """A file with SPH."""
    return contents[0]


def test_a_file_that_is_not_there_is_not_found(tmp_path):
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "head")


@pytest.mark.parametrize(
    ("foreign", "what"),
    [
        (b"", "is empty. Save the head again"),
        (
            b"\x89PNG\r\n\x1a\n" + bytes(100),
            "is not a head file. Pass a file that aftermax.save or 'aftermax fit' wrote.",
        ),
        (b"PK", "is not a head file. "),
        (
            npz(logits=np.ones((3, 2)), labels=np.zeros(3)),
            "is not a head file: it is an archive of labels.npy, logits.npy.",
        ),
        (npz(**{"x" * 60_000: np.ones(3)}), f"is not a head file: it is an archive of {'x' * 20}"),
        (
            npz(**{f"a{n}": np.ones(1) for n in range(80)}),
            "is not a head file: it is an archive of more than 64",
        ),
    ],
)
def test_files_of_other_kinds_are_told(foreign, what, tmp_path):
    message = refused(foreign, tmp_path)
    assert message.startswith(what)
    assert len(message) < 400


def test_a_newer_format_asks_for_a_newer_aftermax(content, tmp_path):
    assert refused(repacked(content, described={"format_version": 4}), tmp_path) == (
        "was made by a newer aftermax (format 4; this one reads up to 3): upgrade aftermax."
    )
    for version in (0, "1", True, None, 1.0):
        assert "format_version is" in refused(repacked(content, described={"format_version": version}), tmp_path)
    assert "of another kind" in refused(repacked(content, described={"format": "a tail"}), tmp_path)


def test_a_damaged_file_says_so(content, tmp_path):
    assert refused(content[:-1], tmp_path).startswith("is damaged: its end is missing. Save the head again")
    assert "its end is missing" in refused(content + b"more", tmp_path)
    flipped = content.replace(b"temperature", b"temperaturf")
    assert "Bad CRC-32" in refused(flipped, tmp_path)


# ---- what someone may have put into it -------------------------------------------------------------------------------


def test_pickles_are_never_opened(content, tmp_path):
    class Trap:
        def __reduce__(self):
            return (pytest.fail, ("a pickle was opened",))

    file = io.BytesIO()
    np.save(file, np.array([Trap()] * 3), allow_pickle=True)
    member = {"counts.npy": file.getvalue()}
    assert "counts.npy" in refused(repacked(content, member, drop=["counts.npy"]), tmp_path)
    objects = {"counts": {"dtype": "|O", "shape": [3], "by_columns": False}}
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        declared = json.loads(archive.read("head.json"))["arrays"]
    declared_as_objects = repacked(content, member, {"arrays": declared | objects}, drop=["counts.npy"])
    assert "counts.npy is of type '|O'" in refused(declared_as_objects, tmp_path)


def test_nothing_grows_when_it_is_read(content, tmp_path):
    assert "is compressed" in refused(repacked(content, method=zipfile.ZIP_DEFLATED), tmp_path)
    locked = bytearray(content)
    locked[content.index(b"PK\x01\x02") + 8] |= 1
    assert "head.json is compressed or encrypted" in refused(bytes(locked), tmp_path)
    bomb = repacked(content, {"head.json": b" " * (2**24 + 1)}, drop=["head.json"])
    assert "head.json is larger than 16,777,216 bytes" in refused(bomb, tmp_path)
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        declared = json.loads(archive.read("head.json"))["arrays"]
    vast = {"center": {"dtype": "<f8", "shape": [2**40, 3], "by_columns": False}}
    assert "center.npy has" in refused(repacked(content, described={"arrays": declared | vast}), tmp_path)
    end = bytearray(content)
    end[-10:-6] = struct.pack("<L", 2**31)
    assert "archive of more than 64 files" in refused(bytes(end), tmp_path)


def test_a_file_may_not_promise_more_than_it_holds(content, tmp_path):
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        place = content.rindex(b"PK\x01\x02", 0, content.rindex(b"trusted.npy"))
        assert archive.getinfo("trusted.npy").file_size < 300
    more = bytearray(content)
    more[place + 20 : place + 28] = struct.pack("<LL", 2**30, 2**30)
    assert "larger than" in refused(bytes(more), tmp_path)


def test_members_that_overlap_are_refused_before_they_are_read(content, tmp_path):
    """An attack found a file of 15 MB that took 1,000 MB: all of its members were the same bytes."""
    more = repacked(content, {"more.npy": bytes(2**22)})
    sizes = struct.Struct("<LL")
    with zipfile.ZipFile(io.BytesIO(more)) as archive:
        declared = json.loads(archive.read("head.json"))["arrays"]
        header = {"dtype": "<f8", "shape": [1], "by_columns": False}
        declared |= {f"copy_{letter}": header for letter in "abcdefgh"}
        start = archive.getinfo("more.npy").header_offset
    copies = {f"copy_{letter}.npy": b"" for letter in "abcdefgh"}
    archived = bytearray(repacked(more, copies, {"arrays": declared | {"more": header}}))
    for name in copies:
        place = archived.rindex(b"PK\x01\x02", 0, archived.rindex(name.encode()))
        archived[place + 20 : place + 28] = sizes.pack(2**22, 2**22)
        archived[place + 42 : place + 46] = struct.pack("<L", start)
    tracemalloc.start()
    try:
        assert "the files in it overlap" in refused(bytes(archived), tmp_path)
        assert tracemalloc.get_traced_memory()[1] < 2 * len(archived)
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(("value", "times"), [("[],", 150_000), ("{},", 70_000), ('"ab",', 300_000)])
def test_a_description_of_very_many_values_is_refused_before_it_is_parsed(value, times, content, tmp_path):
    """Each list takes twenty times its size in memory, each object with a value thirty times."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        text = archive.read("head.json").decode()
    many = text.replace('"parameters": {', f'"parameters": {{"grid": [{value * times}0],', 1).encode()
    file = repacked(content, {"head.json": many}, drop=["head.json"])
    tracemalloc.start()
    try:
        assert "head.json has too many values" in refused(file, tmp_path)
        assert tracemalloc.get_traced_memory()[1] < 10 * len(file)
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("name", ["/etc/passwd", "../out.npy", "a/b.npy", "Ünknown.npy", "run.py", "more.npy"])
def test_strange_members_are_refused(name, content, tmp_path):
    assert "the files in it are not those that head.json names" in refused(repacked(content, {name: b"data"}), tmp_path)


def test_members_that_are_missing_twice_there_or_of_no_use_are_refused(content, tmp_path):
    assert "not those that head.json names" in refused(repacked(content, drop=["center.npy"]), tmp_path)
    with pytest.warns(UserWarning, match="Duplicate"):
        twice = repacked(content, {"center.npy": b""})
    assert "not those that head.json names" in refused(twice, tmp_path)
    assert "do not belong to such a head: more" in refused(with_array(content, "more", np.ones(3)), tmp_path)


@pytest.mark.parametrize(
    ("name", "array", "what"),
    [
        ("center", np.ones((3, 4)), "the array center has shape (3, 4): (3, 3) is needed"),
        ("center", np.ones(9), "the array center has shape (9,): (3, 3) is needed"),
        ("center", np.ones((3, 3), dtype=np.float32), "the array center is of type float32: float64 is needed"),
        ("center", np.full((3, 3), np.nan), "the array center holds values that are not finite"),
        ("left", np.zeros((3, 3)), "the array left holds values that are too low"),
        ("right", np.full((3, 3), np.inf), "the array right holds values that are not finite"),
        ("counts", np.array([1, -1, 3]), "the array counts holds values that are too low"),
        ("weights", np.full((3, 3), -1.0), "the array weights holds values that are too low"),
        ("separation", np.full((3, 3), -1.0), "the array separation holds values that are too low"),
        ("trusted", np.ones(3), "the array trusted is of type float64: bool is needed"),
        (
            "trusted",
            np.array([0, 1, 2], dtype=np.uint8).view(bool),
            "holds values that are neither true nor false",
        ),
        ("classes", np.array([1, 1, 2]), "the array classes repeats a class"),
        ("classes", np.array([1.0, np.nan, 2.0]), "the array classes repeats a class, or holds one that is not finite"),
        ("classes", np.array([1]), "the array classes does not list at least two classes"),
        ("classes", np.array([2**30] * 3, dtype="<u4").view("<U1"), "the array classes holds invalid Unicode"),
        ("classes", np.arange(4), "predicted_shares is not a list of 4"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(name, array, what, content, tmp_path):
    assert what in refused(with_array(content, name, array), tmp_path)


@pytest.mark.parametrize(
    ("name", "change", "what"),
    [
        ("logits_exponents", lambda array: array[:-1], "logits_exponents has shape (4, 120): (5, any) is needed"),
        ("logits_components", lambda array: array[:-1], "logits_components has shape (2, 3): (3, any) is needed"),
        (
            "features_components",
            lambda array: array[:, :-1],
            "features_exponents has shape (4, 120): (3, any)",
        ),
        ("logits_coefficients", lambda array: array[:, 1:], "has shape (1, 119, 3): (any, 120, 3) is needed"),
        ("features_used", lambda array: array[1:], "features_used has shape (1,): (2,) is needed"),
        ("logits_linear", lambda array: array[1:], "logits_linear has shape (2, 3): (3, 3) is needed"),
        ("logits_factors", lambda array: array[1:], "logits_factors has 2 covariances: 1 or 3 are possible"),
        ("logits_means", lambda array: array[1:], "logits_means has shape (2, 3): (3, 3) is needed"),
        ("logits_used", lambda array: ~array, "logits_coefficients has values for kernels that logits_used leaves out"),
        ("logits_exponents", lambda array: -array, "the array logits_exponents gives kernels that are larger than 1"),
        (
            "logits_exponents",
            lambda array: np.roll(array, 1, 1) + np.eye(*array.shape),
            "kernels that are larger than 1",
        ),
        ("logits_exponents", lambda array: array * (np.arange(5) < 4)[:, None], "kernels that are larger than 1"),
        ("logits_intercepts", lambda array: array + np.inf, "logits_intercepts holds infinity, or nothing finite"),
        ("logits_intercepts", lambda array: array - np.inf, "logits_intercepts holds infinity, or nothing finite"),
    ],
)
def test_arrays_of_a_combination_that_do_not_fit_are_refused(name, change, what, contents, tmp_path):
    with np.load(io.BytesIO(contents[1])) as arrays:
        array = np.ascontiguousarray(change(arrays[name]))
    assert what in refused(with_array(contents[1], name, array), tmp_path)


@pytest.mark.parametrize(
    ("name", "array", "what"),
    [
        ("adapted_offsets", np.zeros(2), "the array adapted_offsets has shape (2,): (3,) is needed"),
        ("adapted_offsets", np.array([0.0, 0.0, 1e9]), "the array adapted_offsets holds values that are too high"),
        ("priors_calibrations", np.zeros((0, 4)), "the array priors_calibrations has no rows"),
        ("priors_calibrations", np.zeros((3, 4)), "or a slope that is not positive"),
        ("priors_references", np.full((1, 3), -0.1), "the array priors_references"),
        ("priors_labelled_counts", np.full(3, np.nan), "the array priors_labelled_counts holds values"),
    ],
)
def test_arrays_of_an_adapted_head_that_do_not_fit_are_refused(name, array, what, contents, tmp_path):
    assert what in refused(with_array(contents[-1], name, array), tmp_path)


@pytest.mark.parametrize(
    ("grid", "what"),
    [
        ("x", "the parameter grid is not a list"),
        ([1], "a part of the parameter grid is missing"),
        ({"tail": [1]}, "a hyperparameter in grid is 'tail', which is not known"),
        ({"certainty": 0.5}, "certainty in grid is not a list"),
        ({"certainty": [[0.5]]}, "certainty in grid is [0.5]: a single value is needed"),
    ],
)
def test_grids_that_are_none_are_refused(grid, what, tmp_path):
    content = (HEADS / "v3-strings.npz").read_bytes()
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        parameters = json.loads(archive.read("head.json"))["parameters"]
    assert what in refused(repacked(content, described={"parameters": parameters | {"grid": grid}}), tmp_path)


def test_values_that_are_long_are_not_repeated_in_messages(content, tmp_path):
    message = refused(repacked(content, described={"one_logit": "a" * 2**20}), tmp_path)
    assert "one_logit is 'aaa" in message
    assert len(message) < 400


@pytest.mark.parametrize("name", ["logits_linear", "logits_means", "logits_exponents", "biases"])
def test_numbers_that_overflow_are_refused(name, contents, tmp_path):
    with np.load(io.BytesIO(contents[1])) as arrays:
        array = np.full_like(arrays[name], 1e200)
    assert f"the array {name} holds values that are too large" in refused(
        with_array(contents[1], name, array), tmp_path
    )


def test_factors_without_dimensions_are_refused(contents, tmp_path):
    content = contents[1]
    with np.load(io.BytesIO(content)) as arrays:
        empty = {
            "logits_components": arrays["logits_components"][:, :0],
            "logits_exponents": arrays["logits_exponents"][:2],
            "logits_linear": arrays["logits_linear"][:0],
            "logits_factors": arrays["logits_factors"][:, :0, :0],
            "logits_means": arrays["logits_means"][:, :0],
        }
    for name, array in empty.items():
        content = with_array(content, name, np.ascontiguousarray(array))
    assert "the array logits_components has no columns" in refused(content, tmp_path)


def test_a_temperature_of_almost_nothing_gives_finite_probabilities(contents, tmp_path):
    path = tmp_path / "head"
    with zipfile.ZipFile(io.BytesIO(contents[2])) as archive:
        described = json.loads(archive.read("head.json"))
    described["head"]["temperature"] = 5e-324
    path.write_bytes(repacked(contents[2], described=described))
    found = load(path).predict_proba(np.array([[1.0, 2.0, 0.0], [3.0, 3.0, 1e99]]))
    np.testing.assert_array_equal(found, [[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"shares": [0.5, 0.5]}, "shares is not a list of 3"),
        ({"shares": [0.5, 0.5, 1.5]}, "a share is 1.5, which is out of range"),
        ({"adapted": "yes"}, "adapted is 'yes': true or false is needed"),
        ({"reason": 3}, "reason is not text"),
        ({"more": 1}, "missing or unknown fields: 'more'"),
    ],
)
def test_notes_about_class_proportions_that_do_not_fit_are_refused(change, what, contents, tmp_path):
    with zipfile.ZipFile(io.BytesIO(contents[-1])) as archive:
        adaptation = json.loads(archive.read("head.json"))["adaptation"]
    assert what in refused(repacked(contents[-1], described={"adaptation": adaptation | change}), tmp_path)


@pytest.mark.parametrize(
    ("which", "way", "value", "what"),
    [
        (0, ("head", "hyperparameters", "certainty"), 1.5, "certainty is 1.5, which is out of range"),
        (0, ("head", "hyperparameters", "veto_count"), 0, "veto_count is 0: an integer of at least 1 is needed"),
        (
            0,
            ("head", "hyperparameters", "veto_count"),
            2.0,
            "veto_count is 2.0: an integer of at least 1",
        ),
        (0, ("head", "hyperparameters", "distance_power"), 10**400, "distance_power is inf, which is out of range"),
        (2, ("head", "temperature"), 0, "temperature is 0.0, which is out of range"),
        (1, ("head", "slope"), 1e308, "slope is 1e+308, which is out of range"),
        (1, ("head", "terms", 0, "gaussian_weight"), 1e308, "gaussian_weight is 1e+308, which is out of range"),
        (0, ("parameters", "certainty"), [[0.5]], "the parameter certainty is [[0.5]]: a single value is needed"),
        (1, ("parameters", "class_weight"), [[0, [1.0]]], "class_weight is [1.0]: a single value is needed"),
        (1, ("parameters", "class_weight"), 7, "the parameter class_weight is 7, which is not possible"),
        (0, ("one_logit",), True, "one_logit is true, but there are 3 classes"),
        (0, ("one_logit",), 1, "one_logit is 1: true or false is needed"),
        (1, ("features_width",), None, "the source of terms is 'features', which is not known"),
        (1, ("head", "terms", 0, "clip_depth"), -1.0, "clip_depth is -1.0, which is out of range"),
        (1, ("head", "terms", 0, "gaussian_floor"), 2, "gaussian_floor is 2.0, which is out of range"),
        (1, ("head", "terms", 1, "source"), "logits", "the array logits_components is missing"),
        (
            1,
            ("report", "candidates", 1, "name"),
            "softmax",
            "the name of a candidate is 'softmax', which is not known",
        ),
        (1, ("report", "candidates", 1, "tier"), "tail", "the tier of a candidate is 'tail', which is not known"),
        (1, ("report", "candidates", 1, "trust"), 0.3, "trust is 0.3, which is not known"),
        (1, ("report", "chosen"), "sph", "chosen is 'sph', but the head is of the kind 'combination'"),
        (2, ("report", "chosen"), "linear", "chosen is 'linear', but the head is of the kind 'softmax'"),
        (1, ("report", "proven"), "yes", "proven is 'yes': true or false is needed"),
        (1, ("report", "trust"), 0.0, "trust is 0.0, which is not known"),
        (1, ("report", "class_shares"), [0.5, 0.5], "class_shares is not a list of 3"),
        (1, ("report", "gain_prediction_interval"), [0.1], "gain_prediction_interval is not a list of 2"),
        (0, ("reference", "logit_means"), [1.0, 2.0], "logit_means is not a list of 3"),
        (0, ("reference", "logit_deviations"), [1.0, -1.0, 1.0], "logit_deviations is -1.0, which is out of range"),
        (0, ("reference", "predicted_shares"), [2.0, 0.0, 0.0], "predicted_shares is 2.0, which is out of range"),
        (0, ("reference", "fingerprint", "n_samples"), 0, "n_samples is 0: an integer of at least 1 is needed"),
        (0, ("reference", "fingerprint"), None, "the fingerprint is missing"),
        (0, ("reference", "fingerprint", "smallest"), [-1], "a hash is -1: an integer of at least 0 is needed"),
        (0, ("reference", "fingerprint", "smallest"), [1] * 129, "the list of hashes has 129 entries"),
        (1, ("report", "candidates"), [], "candidates has some twice, or lacks softmax or the one that is chosen"),
    ],
)
def test_descriptions_that_do_not_fit_are_refused(which, way, value, what, contents, tmp_path):
    with zipfile.ZipFile(io.BytesIO(contents[which])) as archive:
        described = json.loads(archive.read("head.json"))
    inner = described
    for key in way[:-1]:
        inner = inner[key]
    assert inner.get(way[-1]) != value
    inner[way[-1]] = value
    assert what in refused(repacked(contents[which], described=described), tmp_path)


def test_a_candidate_that_is_listed_twice_is_refused(contents, tmp_path):
    with zipfile.ZipFile(io.BytesIO(contents[1])) as archive:
        described = json.loads(archive.read("head.json"))
    described["report"]["candidates"].append(described["report"]["candidates"][0])
    assert "candidates has some twice" in refused(repacked(contents[1], described=described), tmp_path)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        (b"{", "is damaged: Expecting property name"),
        (b"\xff", "is damaged: 'utf-8' codec"),
        (b"[]", "is not a head file: its head.json is of another kind"),
        (b'{"a": 1, "a": 2}', "is damaged: head.json has a field twice"),
        (b'{"a": NaN}', "is damaged: head.json holds NaN"),
        (b"[" * 100_000, "is damaged: maximum recursion depth exceeded"),
    ],
)
def test_json_that_is_none_is_refused(text, what, content, tmp_path):
    assert refused(repacked(content, {"head.json": text}, drop=["head.json"]), tmp_path).startswith(what)


@pytest.mark.parametrize("name", ["logits_intercepts", "logits_exponents", "logits_coefficients", "logits_factors"])
@pytest.mark.parametrize("factor", [1e30, 1e60, 1e100])
def test_numbers_beyond_single_precision_predict_what_is_most_probable(name, factor, contents, tmp_path):
    """Most samples are predicted in single precision, which must not change what is predicted; nor may numpy warn."""
    with np.load(io.BytesIO(contents[1])) as arrays:
        array = np.ascontiguousarray(arrays[name]) * factor
    path = tmp_path / "head"
    path.write_bytes(with_array(contents[1], name, np.clip(array, -1e149, 1e149)))
    head = load(path)
    logits, labels = weak(n_samples=200)
    inputs = logits, features_of(labels)
    try:
        probabilities = head.predict_proba(*inputs)
    except ValueError as error:
        assert "too large to compute probabilities of" in str(error)  # noqa: PT017  # either is right
        return
    np.testing.assert_array_equal(head.predict(*inputs), head.classes_[probabilities.argmax(axis=1)])


def test_sides_that_are_next_to_nothing_neither_warn_nor_break_the_prediction(content, tmp_path):
    path = tmp_path / "head"
    path.write_bytes(with_array(content, "left", np.full((3, 3), 5e-324)))
    head, logits = load(path), weak()[0]
    assert np.isfinite(head.predict_proba(logits)).all()
    np.testing.assert_array_equal(head.predict(logits), head.predict_proba(logits).argmax(axis=1))


def test_the_order_of_an_array_in_a_file_compiles_nothing_anew(content, tmp_path):
    """A file that says "by columns" of some arrays took seconds, for each choice of arrays."""
    from aftermax.sph._kernels import predict_samples

    path = tmp_path / "head"
    path.write_bytes(content)
    before = load(path).predict(weak()[0])
    known = len(predict_samples.signatures)
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        declared = json.loads(archive.read("head.json"))["arrays"]
        center = np.load(io.BytesIO(archive.read("center.npy")))
    file = io.BytesIO()
    np.save(file, np.asfortranarray(center))
    declared["center"]["by_columns"] = True
    path.write_bytes(repacked(content, {"center.npy": file.getvalue()}, {"arrays": declared}, drop=["center.npy"]))
    np.testing.assert_array_equal(load(path).predict(weak()[0]), before)
    assert len(predict_samples.signatures) == known


# ---- chance and malice -----------------------------------------------------------------------------------------------


def outcome(content, tmp_path):
    """The head in these bytes, or None if load refuses them; anything else is a failure."""
    path = tmp_path / "head"
    path.write_bytes(content)
    try:
        return load(path)
    except ValueError as error:
        message = str(error)
    assert message.startswith(str(path))
    return None


@given(st.data())
def test_damage_is_noticed_or_changes_nothing(contents, tmp_path_factory, data):
    whole = data.draw(st.sampled_from(contents))
    content = bytearray(whole)
    for _ in range(data.draw(st.integers(0, 3))):
        place = data.draw(st.integers(0, len(content) - 1) | st.integers(max(0, len(content) - 1500), len(content) - 1))
        content[place] ^= 1 << data.draw(st.integers(0, 7))
    start, length = data.draw(st.integers(0, len(content))), data.draw(st.integers(0, 40))
    if data.draw(st.booleans()):
        del content[start : start + length]
    if data.draw(st.booleans()):
        del content[data.draw(st.integers(0, len(content))) :]
    folder = tmp_path_factory.mktemp("damaged")
    head = outcome(bytes(content), folder)
    if head is not None:
        assert_same(outcome(whole, folder), head)


def places_in(value, path=()):
    """The path to every value in JSON."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for key, item in items for place in places_in(item, (*path, key)))]


ODD = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=5)
    | st.sampled_from([10**400, 2**63, -1, 0, {"number": "nan"}, {"number": "inf"}, {"number": 1}, {"number": []}]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=4,
)


@given(st.data())
def test_whatever_a_description_says_the_file_is_refused_or_the_head_predicts(contents, tmp_path_factory, data):
    content = data.draw(st.sampled_from(contents))
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        described = json.loads(archive.read("head.json"))
    *way, last = data.draw(st.sampled_from(places_in(described)[1:]))
    inner = described
    for key in way:
        inner = inner[key]
    if data.draw(st.booleans()):
        inner[last] = data.draw(ODD)
    else:
        del inner[last]
    predict_if_loaded(repacked(content, {"head.json": json.dumps(described)}, drop=["head.json"]), tmp_path_factory)


@given(st.data())
def test_whatever_is_in_the_arrays_the_file_is_refused_or_the_head_predicts(contents, tmp_path_factory, data):
    content = data.draw(st.sampled_from(contents))
    with np.load(io.BytesIO(content)) as arrays:
        name = data.draw(st.sampled_from([name for name in arrays if name != "head.json" and arrays[name].size]))
        array = arrays[name]
    if array.dtype.kind == "f":
        array.flat[data.draw(st.integers(0, array.size - 1))] = data.draw(st.floats())
    elif array.dtype.kind != "U" and data.draw(st.booleans()):
        array = data.draw(
            st.sampled_from([array[:-1], array[:0], array.astype(np.uint8), array[:, None], -array.astype(int)])
        )
    else:
        array = np.roll(array, 1, axis=0)
    predict_if_loaded(with_array(content, name, array), tmp_path_factory)


def predict_if_loaded(content, tmp_path_factory):
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        head = outcome(content, tmp_path_factory.mktemp("odd"))
        if head is not None and head.features_width_ in (2, None):
            assert len(predictions_of(head, n_samples=20)[0]) == 20
