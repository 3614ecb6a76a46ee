"""The page as text: notes, privacy, and input that is refused."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest
from sklearn.naive_bayes import GaussianNB

from aftermax import AutoHead, SPHClassifier, SPHClassifierCV, audit
from aftermax._utils.softmax import softmax
from aftermax._utils.text import CONTROLS
from aftermax.report import html_report, write_report
from helpers.audits import made_up_candidates
from helpers.report_pages import certainties, hostile_audit
from helpers.samples import make_samples


@pytest.mark.parametrize(
    ("head", "words"),
    [
        (SPHClassifier(certainty=0.0), "The gate of the head audited here is 0: it pools no sample."),
        (SPHClassifierCV({"certainty": [0.6]}, cv=2, alpha=0.0), "is 0: it pools no sample."),
        (AutoHead(cv=2, alpha=0.0, only_proven=True), None),
        (GaussianNB(), None),
    ],
)
def test_only_the_page_of_sph_speaks_of_a_gate(head, words):
    logits, labels = make_samples(seed=1, n_samples=200)
    page = html_report(audit(logits, labels, head), logits, labels)
    places = [page.index(f"<h2>{title}</h2>") for title in ("How certain softmax is", "The response array")]
    section = page[places[0] : page.index("</section>", places[0])]
    if words is None:
        assert "gate" not in section
        assert '"gate":{"start":null,' in page
    else:
        assert words in section
        assert '"gate":{"start":0.9,' in page
    assert (places[0] > places[1]) == (words is None)  # last where it is of no use


def test_the_page_says_for_how_many_samples_softmax_is_uncertain(animals):
    found, logits, labels = animals
    below = int((certainties(logits) < 0.5).sum())
    assert below > 0
    assert f"certainty of softmax is below 0.5 for {below} of the 200 samples." in html_report(found, logits, labels)
    certain = 30 * np.eye(5)[logits.argmax(axis=1)]
    assert "The certainty of softmax is at least 0.5 for every sample." in html_report(found, certain, labels)


def test_heads_for_many_classes_are_named_and_explained(animals):
    found, logits, labels = animals
    counts = {"biases": (3, 2), "class means": (9, 2)}
    for more in ({}, {"class means and discriminants": (12, 3)}):
        table = made_up_candidates(chosen="class means", **counts, **more)
        page = html_report(replace(found, candidates=table, chosen="class means"), logits, labels)
        assert "class means: biases, and the similarity" in page
        assert "the head that was passed" not in page
        assert ("biases and class means each have the corrections of the one before" in page) == (not more)
        assert ("biases and class means, and class means and discriminants, each have" in page) == bool(more)
        assert "biases, linear and combination" not in page


def test_parameters_changed_after_the_fit_do_not_move_the_gate():
    logits, labels = make_samples(seed=1, n_samples=200)
    found = audit(logits, labels, SPHClassifier(certainty=0.6))
    found.head.set_params(certainty=0.3)
    assert '"gate":{"start":0.6,' in html_report(found, logits, labels)


def test_no_control_character_of_a_name_is_in_a_page():
    found, logits, labels = hostile_audit()
    controls = found.classes[3]
    pairs = tuple(one._replace(true=controls, taken_for=controls) for one in (*found.pairs, *found.tangled))
    found = replace(found, warnings=("Few of \u202e.",), pairs=pairs, chosen="a\x1b[2Jb")
    page = html_report(found, logits, labels, title="\x1b[2J\u2066")
    assert pairs
    assert set(CONTROLS.findall(page)) == {"\n"}
    data = json.loads(re.search(r'<script type="application/json"[^>]*>(.*?)</script>', page, flags=re.DOTALL)[1])
    assert not [text for text in texts_of(data) if CONTROLS.search(text)]
    for shown in ("<h1>\\x1b[2J\\u2066</h1>", "Few of \\u202e.", "a\\x1b[2Jb", "mü \\u2028 \\u202e \\ud800"):
        assert shown in page


def texts_of(data):
    """All texts and keys in the data of a page."""
    if isinstance(data, str):
        return [data]
    if isinstance(data, dict):
        return [*data, *texts_of(list(data.values()))]
    return [text for one in data for text in texts_of(one)] if isinstance(data, list) else []


def test_the_same_audit_gives_the_same_bytes(tmp_path):
    texts = []
    for _ in range(2):
        found, logits, labels = hostile_audit()
        write_report(tmp_path / "report.html", found, logits, labels)
        texts.append((tmp_path / "report.html").read_bytes())
    assert texts[0] == texts[1]
    assert [file.name for file in tmp_path.iterdir()] == ["report.html"]


def test_no_sample_and_no_parameter_of_a_foreign_head_is_in_the_file(tmp_path):
    from sklearn.pipeline import Pipeline
    from sklearn.preprocessing import StandardScaler

    logits, labels = make_samples(seed=1, n_samples=2000)
    head = Pipeline([("scale", StandardScaler()), ("bayes", GaussianNB())], memory=str(tmp_path / "secret"))
    text = html_report(audit(logits, labels, head, cv=2), logits, labels)
    assert "secret" not in text
    assert str(tmp_path) not in text
    embedded = re.search(r'id="data">(.*?)</script>', text)[1]
    data = json.loads(embedded)
    assert len(data["gate"]["samples"]) == len(data["gate"]["errors"]) == 201
    assert len(re.findall(r"\d+\.\d+", embedded)) < 5 * 5 * 4 + 10 * 3 + 2  # D, the bins of reliability, and the gate


def test_other_objects_than_an_audit_are_refused(animals):
    _, logits, labels = animals
    with pytest.raises(TypeError, match=r"not dict: pass the result of aftermax\.audit\(logits, labels\)"):
        html_report({}, logits, labels)


def test_samples_that_were_not_audited_are_refused_and_nothing_is_written(animals, tmp_path):
    found, logits, labels = animals
    path = tmp_path / "report.html"
    broken = logits.copy()
    broken[3, 2] = np.nan
    others = {
        "not the samples of the audit: it counted 200 samples": (logits[:-1], labels[:-1]),
        "or differ by class": (-logits, labels),
        "logits contain NaN at row 3": (broken, labels),
        "there are 199 labels": (logits, labels[:-1]),
        "labels hold 5 classes but logits have 4 columns": (logits[:, :4], labels),
        "no samples": (logits[:0], labels[:0]),
        "one class only": (logits[:5], labels[:1].repeat(5)),
        "labels hold 'yak'": (logits, np.where(labels == "ant", "yak", labels)),
    }
    for message, (some_logits, some_labels) in others.items():
        with pytest.raises(ValueError, match=message):
            write_report(path, found, some_logits, some_labels)
    assert list(tmp_path.iterdir()) == []


def test_data_frames_are_accepted_and_warnings_are_not_repeated(animals):
    pandas = pytest.importorskip("pandas")
    found, logits, labels = animals
    frame = pandas.DataFrame(logits, columns=list(found.classes))
    assert html_report(found, frame, pandas.Series(labels)) == html_report(found, logits, labels)
    probabilities = softmax(logits)
    with pytest.warns(UserWarning, match="look like probabilities"):
        warned = audit(probabilities, labels, GaussianNB(), cv=2)
    assert "<h1>" in html_report(warned, probabilities, labels)
