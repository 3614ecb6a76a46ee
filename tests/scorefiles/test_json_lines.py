"""Score files with a JSON object on each line."""

import gzip
import json
import tracemalloc
from pathlib import Path
from time import process_time

import numpy as np
import pytest

from aftermax._scorefiles import ReadOptions, open_scores, read_scores
from helpers.samples import make_samples

NAMES = np.array(["ant", "bee", "cat"])


def lines_of(count=60, seed=0, **more):
    logits, labels = make_samples(seed=seed, n_samples=count, n_classes=3)
    return [
        {"scores": dict(zip(NAMES.tolist(), row, strict=True)), "label": str(NAMES[label])}
        | {key: values[n] for key, values in more.items()}
        for n, (row, label) in enumerate(zip(logits.tolist(), labels, strict=True))
    ], logits


def write(path, lines, encoding="utf-8"):
    text = "".join(f"{one if isinstance(one, str) else json.dumps(one)}\n" for one in lines).encode(encoding)
    path.write_bytes(gzip.compress(text) if path.suffix == ".gz" else text)
    return str(path)


@pytest.mark.parametrize("name", ["scores.jsonl", "scores.jsonl.gz", "scores.ndjson", "Scores.JSONL"])
def test_samples_come_back_as_they_were_written(tmp_path, name):
    lines, logits = lines_of()
    scores = read_scores(write(tmp_path / name, lines))
    np.testing.assert_array_equal(scores.logits, logits)
    assert scores.labels.tolist() == [one["label"] for one in lines]
    assert scores.classes.tolist() == NAMES.tolist()
    assert scores.answers.format.kind == "logits"
    assert scores.answers.told.all()


def test_scores_without_names_are_of_numbered_classes(tmp_path):
    logits, labels = make_samples(n_samples=30, n_classes=3)
    lines = [{"scores": row, "label": int(label)} for row, label in zip(logits.tolist(), labels, strict=True)]
    scores = read_scores(write(tmp_path / "scores.jsonl", lines))
    np.testing.assert_array_equal(scores.logits, logits)
    assert scores.classes.tolist() == [0, 1, 2]
    np.testing.assert_array_equal(scores.labels, labels)


def test_keys_may_be_nested_and_features_groups_and_weights_are_read(tmp_path):
    lines, logits = lines_of(40, patient=[{"name": f"p{n // 4}"} for n in range(40)], w=[1 + n % 2 for n in range(40)])
    for one, row in zip(lines, logits.tolist(), strict=True):
        one["answer"] = [{"best": one.pop("scores"), "truth": one.pop("label")}]
        one["features"] = row[:2]
    options = ReadOptions(
        scores_key="answer.0.best", label_column="answer.0.truth", groups="patient.name", weights="w", ignore=("none",)
    )
    scores = read_scores(write(tmp_path / "scores.jsonl", lines), options)
    np.testing.assert_array_equal(scores.logits, logits)
    np.testing.assert_array_equal(scores.features, logits[:, :2])
    assert scores.groups.tolist() == [f"p{n // 4}" for n in range(40)]
    assert scores.weights.tolist() == [1 + n % 2 for n in range(40)]


def test_empty_lines_at_the_end_and_a_byte_order_mark(tmp_path):
    lines, logits = lines_of(10)
    scores = read_scores(write(tmp_path / "scores.jsonl", [*lines, "", "  "], encoding="utf-8-sig"))
    np.testing.assert_array_equal(scores.logits, logits)


def test_labels_are_matched_as_the_scores_are(tmp_path):
    lines, _ = lines_of(20)
    lines[3]["label"] = lines[3]["label"].upper() + " "
    with pytest.warns(UserWarning, match="case or white space only"):
        scores = read_scores(write(tmp_path / "scores.jsonl", lines))
    assert set(scores.labels) <= set(NAMES)


def test_classes_without_labels_and_ignored_ones(tmp_path):
    lines, _ = lines_of(20)
    for one in lines:
        one["scores"] |= {"dog": -9.0, "other": 1.0}
    path = write(tmp_path / "scores.jsonl", lines)
    assert read_scores(path, ReadOptions(ignore=("other",))).classes.tolist() == [*NAMES, "dog"]
    named = read_scores(path, ReadOptions(classes=("cat", "bee", "ant", "dog"), ignore=("Other",)))
    assert named.classes.tolist() == ["cat", "bee", "ant", "dog"]


def test_for_a_head_rows_are_read_some_at_a_time(tmp_path, monkeypatch):
    lines, logits = lines_of(50)
    path = write(tmp_path / "scores.jsonl", lines)
    monkeypatch.setattr("aftermax._scorefiles.types.MAX_ROWS_PER_BATCH", 20)
    with open_scores(path, ReadOptions(columns=(tuple(NAMES),), keep=("label",))) as file:
        batches = list(file.batches)
    assert [len(rows.logits) for rows in batches] == [20, 20, 10]
    np.testing.assert_array_equal(np.concatenate([rows.logits for rows in batches]), logits)
    assert batches[2].kept == {"label": [one["label"] for one in lines[40:]]}


# ---- thousands of classes --------------------------------------------------------------------------------------------


def wide_file(path, n_samples):
    """Lines with the scores of 6,623 classes each."""
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(n_samples, 6_623)).round(3)
    names = [f"c{number:04}" for number in range(6_623)]
    lines = [
        {"scores": dict(zip(names, row.tolist(), strict=True)), "label": names[number % 50]}
        for number, row in enumerate(logits)
    ]
    return write(path, lines), logits


def test_thousands_of_scores_on_a_line_take_little_longer_than_json_itself(tmp_path):
    path, logits = wide_file(tmp_path / "scores.jsonl", 60)
    np.testing.assert_array_equal(read_scores(path).logits, logits)
    ratios = []
    for _ in range(3):
        begun = process_time()
        for line in Path(path).read_bytes().splitlines():
            json.loads(line)
        alone, begun = process_time() - begun, process_time()
        read_scores(path)
        ratios.append((process_time() - begun) / alone)
    assert min(ratios) < 5.0  # about 2; while coverage is measured, 3.6


def test_the_memory_is_a_small_multiple_of_the_scores(tmp_path, monkeypatch):
    path, logits = wide_file(tmp_path / "scores.jsonl", 60)
    monkeypatch.setattr("aftermax.answers.kinds.SCORES_AT_ONCE", 30_000)
    monkeypatch.setattr("aftermax.answers.reader.SCORES_AT_ONCE", 30_000)
    read_scores(path)
    tracemalloc.start()
    scores = read_scores(path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    np.testing.assert_array_equal(scores.logits, logits)
    assert peak < 5 * logits.nbytes


@pytest.mark.parametrize("kind", ["probabilities", "logits"])
def test_lines_with_the_same_classes_as_before_are_read_as_any_others(tmp_path, monkeypatch, kind):
    """Also where the order changes, a class is named twice or left out, and some lines are read at a time."""
    rng = np.random.default_rng(1)
    scores = rng.dirichlet(np.ones(4), size=30).round(4)
    lines = [
        {"scores": dict(zip("abcd", row.tolist(), strict=True)), "label": "abcd"[n % 4]} for n, row in enumerate(scores)
    ]
    lines[5]["scores"] = dict(reversed(lines[5]["scores"].items()))
    lines[6]["scores"] = {"a": 0.25, "A ": 0.5, "b": 0.125}
    lines[7]["scores"] = {"b": 1, "c": 0}
    path, options = write(tmp_path / "scores.jsonl", lines), ReadOptions(classes=tuple("abcd"), scores_kind=kind)
    with pytest.warns(UserWarning, match="case or white space only"):
        found = read_scores(path, options).logits
    expected = np.log(scores) if kind == "probabilities" else scores
    np.testing.assert_allclose(np.delete(found, [6, 7], axis=0), np.delete(expected, [6, 7], axis=0))
    assert found[6, 0] == pytest.approx(np.log(0.75) if kind == "probabilities" else 0.5)
    assert found[7].argmax() == 1
    monkeypatch.setattr("aftermax.answers.kinds.SCORES_AT_ONCE", 9)
    monkeypatch.setattr("aftermax.answers.reader.SCORES_AT_ONCE", 9)
    monkeypatch.setattr("aftermax.answers.reader.is_plain", lambda answer: False)
    with pytest.warns(UserWarning, match="case or white space only"):
        np.testing.assert_array_equal(read_scores(path, options).logits, found)


@pytest.mark.parametrize("score", ["true", '"0.5"', "null", "1e400"])
def test_a_score_that_is_no_number_is_found_after_good_lines(tmp_path, score):
    lines = [GOOD, GOOD, GOOD.replace("0.3", score)]
    with pytest.raises(ValueError, match=r"scores.jsonl, line 3: the score of 'bee' is .*: a finite number is needed"):
        read_scores(write(tmp_path / "scores.jsonl", lines))


# ---- errors ----------------------------------------------------------------------------------------------------------

GOOD = '{"scores": {"ant": 0.7, "bee": 0.3}, "label": "ant"}'
OTHER = '{"scores": {"ant": 0.2, "bee": 0.8}, "label": "bee"}'
BAD = {
    "empty line": (["", OTHER], "line 2 is empty: remove it"),
    "no JSON": (["ant,bee", OTHER], "line 2 is not a JSON object"),
    "truncated": (['{"scores": {"ant": 0.7, "be'], "line 2 is not a JSON object"),
    "list": (["[1, 2]", OTHER], "line 2 holds no JSON object, but a list"),
    "NaN": (
        ['{"scores": {"ant": NaN, "bee": 0.3}, "label": "ant"}'],
        r"line 2 is not .*NaN is no number",
    ),
    "NaN as text": (['{"scores": {"ant": "NaN", "bee": 1}, "label": "ant"}'], "line 2: the score of 'ant' is 'NaN'"),
    "no scores": (['{"scores": {}, "label": "ant"}'], "line 2 has no scores: remove it"),
    "later": (['{"scores": null, "label": "ant"}'], "line 2 has no scores under 'scores': remove the line"),
    "no label": (['{"scores": {"ant": 0.7}}', OTHER], "line 2 has no label: fill it in"),
    "unknown label": (['{"scores": {"ant": 0.7}, "label": "dog"}', OTHER], "line 2: the label 'dog' has no column"),
    "label of another type": (['{"scores": {"ant": 0.7}, "label": 1.5}'], "line 2: the label 1.5 is neither text nor"),
    "kinds": (['{"scores": {"ant": -0.7, "bee": -3}, "label": "ant"}', OTHER], "line 2 like log-probabilities"),
}


@pytest.mark.parametrize(("lines", "message"), BAD.values(), ids=BAD)
def test_errors_say_where_and_what_to_do(tmp_path, lines, message):
    with pytest.raises(ValueError, match=message) as raised:
        read_scores(write(tmp_path / "scores.jsonl", [GOOD, *lines]))
    assert "scores.jsonl" in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("line", "key", "message"),
    [
        ('{"score": {"ant": 1}, "label": "ant"}', None, "line 1 has no key 'scores' with scores, but score.ant, label"),
        ('{"id": 1, "result": {"labels": [{"Name": "ant"}]}}', "result.label", "but id, result.labels: name it"),
        (
            '{"result": {"labels": [{"Name": "ant", "Score": 1}]}}',
            "result",
            "labels: name the one, as result.labels",
        ),
    ],
)
def test_a_wrong_key_is_answered_with_the_right_ones(tmp_path, line, key, message):
    with pytest.raises(ValueError, match=message):
        read_scores(write(tmp_path / "scores.jsonl", [line]), ReadOptions(scores_key=key))


def test_other_errors(tmp_path):
    lines, _ = lines_of(20, w=["a"] * 20, features=[[1.0]] * 19 + [[1.0, 2.0]])
    path = write(tmp_path / "scores.jsonl", lines)
    with pytest.raises(ValueError, match=r"line 1 has no number as 'w' for --weights, but 'a'"):
        read_scores(path, ReadOptions(weights="w"))
    with pytest.raises(ValueError, match=r"line 20: features must be a list of 1 numbers"):
        read_scores(path)
    with pytest.raises(ValueError, match=r"line 1 has no group in 'patient'"):
        read_scores(path, ReadOptions(groups="patient", with_features=False))
    np.savez(tmp_path / "scores.npz", logits=np.eye(3), labels=[0, 1, 2])
    with pytest.raises(ValueError, match=r"--scores-key is for files with a JSON object on each line"):
        read_scores(str(tmp_path / "scores.npz"), ReadOptions(scores_key="x"))
    (tmp_path / "scores.json").write_text("[]")
    with pytest.raises(ValueError, match=r"put one JSON object on each line.*\.jsonl"):
        read_scores(str(tmp_path / "scores.json"))
    truncated = tmp_path / "cut.jsonl.gz"
    truncated.write_bytes(gzip.compress(b"".join(f"{GOOD}\n".encode() for _ in range(1000)))[:-9])
    with pytest.raises(ValueError, match="damaged"):
        read_scores(str(truncated))
