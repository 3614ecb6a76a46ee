"""The experiment on prompts: what is embedded and kept, the ways to logits, and the run."""

import numpy as np
import pytest
from typer.testing import CliRunner

from aftermax import AutoHead
from experiments.benchmark import text_trials
from experiments.commands import app
from experiments.prompts import measure
from experiments.prompts.embeddings import PROMPTS, embed_prompts, prompt_texts, read_prompts
from experiments.prompts.measure import ZERO_SHOT, Outcome, PromptsExperiment, Task, drawn, fitted, tasks
from experiments.prompts.ways import BASE, WAYS, unit
from experiments.runs.csv_records import read_records
from helpers.samples import ROOT

CLASSES = ("card_arrival", "exchange_rate", "lost_card")
WORDS = {"card_arrival": "card come post", "exchange_rate": "rate euro dollar", "lost_card": "card gone stolen"}


def token_vectors(text):
    """A vector for each word, the same wherever it stands."""
    seeds = [sum(map(ord, word)) for word in text.split()]
    return np.stack([np.random.default_rng(seed).normal(size=8) for seed in seeds]).astype(np.float32)


def made_encode(texts, output_value="sentence_embedding"):
    """As MiniLM: the mean over words, at length 1, unless the words' own vectors are asked for."""
    tokens = [token_vectors(text) for text in texts]
    return tokens if output_value == "token_embeddings" else unit(np.stack([each.mean(axis=0) for each in tokens]))


def write_texts(path, count, seed):
    rng = np.random.default_rng(seed)
    lines = ["text,category"]
    for _ in range(count):
        name = CLASSES[rng.integers(3)]
        words = [*rng.choice(WORDS[name].split(), 2), *rng.choice(["my", "is", "the", "when", "please"], 3)]
        lines.append(f"{' '.join(words)} {rng.integers(1000)},{name}")
    path.write_text("\n".join(lines))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    texts = tmp_path_factory.mktemp("texts")
    write_texts(texts / "train.csv", 200, 0)
    write_texts(texts / "test.csv", 100, 1)
    return texts


@pytest.fixture
def encoder(monkeypatch):
    monkeypatch.setattr(text_trials, "load_encoder", lambda: made_encode)


@pytest.fixture
def kept(folder, encoder, tmp_path):
    """The files with embeddings of texts and of prompts."""
    return text_trials.embed(folder, tmp_path / "kept"), embed_prompts(folder, tmp_path / "kept")


@pytest.fixture
def few(monkeypatch):
    """Numbers of labels that the made texts are enough for."""
    monkeypatch.setattr(measure, "HEADS", ((40, False), (80, True)))


# ---- embeddings ------------------------------------------------------------------------------------------------------


def test_prompts_have_spaces_for_underscores_and_begin_with_the_name():
    texts = prompt_texts(["lost_card", "refund"])
    assert len(texts) == 2 * len(PROMPTS)
    assert texts[:4] == ["lost card", "refund", "a customer asks about lost card", "a customer asks about refund"]


def test_embeddings_have_their_full_length_and_the_directions_of_the_benchmark(folder, kept):
    embeddings, prompts = kept
    with np.load(embeddings) as arrays:
        np.testing.assert_allclose(unit(read_prompts(prompts).prompts)[0], arrays["names"], atol=1e-6)
    texts, _ = text_trials.read_texts(folder / "train.csv")
    whole = np.stack([token_vectors(text).mean(axis=0) for text in texts])
    found = drawn(embeddings, prompts, draw=3)
    order = np.random.default_rng(3).permutation(len(texts))
    np.testing.assert_allclose(found.train.features * found.train_lengths[:, np.newaxis], whole[order], rtol=1e-5)


def test_prompts_are_embedded_once_and_a_damaged_file_is_an_error(folder, kept, tmp_path, monkeypatch):
    monkeypatch.setattr(text_trials, "load_encoder", None)
    assert embed_prompts(folder, tmp_path / "kept") == kept[1]
    kept[1].write_bytes(b"PK")
    with pytest.raises(ValueError, match="is damaged"):
        read_prompts(kept[1])


# ---- ways ------------------------------------------------------------------------------------------------------------


def test_every_way_is_its_formula():
    rng = np.random.default_rng(0)
    texts, prompts = unit(rng.normal(size=(4, 6))), 3 * rng.normal(size=(5, 2, 6))
    cosines = np.einsum("nd,pkd->pnk", texts, prompts) / np.linalg.norm(prompts, axis=2)[:, np.newaxis]
    found = {name: way.logits(texts, prompts) for name, way in WAYS.items()}
    for name, scale in {"names": 20, "other_folds": 20, "scale_1": 1, "scale_100": 100}.items():
        np.testing.assert_allclose(found[name], scale * cosines[0])
    np.testing.assert_allclose(found["one_prompt"], 20 * cosines[1])
    np.testing.assert_allclose(found["mean_score"], 20 * cosines.mean(axis=0))
    np.testing.assert_allclose(found["largest_score"], 20 * cosines.max(axis=0))
    length = np.linalg.norm(unit(prompts).mean(axis=0), axis=1)
    np.testing.assert_allclose(found["mean_embedding"], found["mean_score"] / length)
    np.testing.assert_allclose(found["full_length"], texts @ prompts[0].T)


def test_without_normalising_neither_logits_nor_features_have_length_1(kept):
    texts = drawn(*kept, draw=0)
    (labelled, test), (longer, _) = (texts.seen_by(WAYS[name], 40) for name in (BASE, "full_length"))
    assert len(labelled.labels) == 40
    np.testing.assert_allclose(np.linalg.norm(labelled.features, axis=1), 1, rtol=1e-5)
    np.testing.assert_allclose(np.linalg.norm(longer.features, axis=1), texts.train_lengths[:40], rtol=1e-5)
    assert np.abs(test.logits).max() <= 20 * (1 + 1e-5)


def test_a_scale_that_is_a_power_of_two_changes_no_prediction_of_autohead(kept):
    """As the report says; other scales draw other folds."""
    labelled, test = drawn(*kept, draw=0).seen_by(WAYS["scale_1"], 120)
    heads = [AutoHead(n_jobs=1).fit(scale * labelled.logits, labelled.labels) for scale in (1, 16, 1024)]
    assert heads[0].chosen_ != "softmax"
    predictions = [head.predict(scale * test.logits) for head, scale in zip(heads, (1, 16, 1024), strict=True)]
    np.testing.assert_array_equal(predictions[0], predictions[1])
    np.testing.assert_array_equal(predictions[0], predictions[2])
    assert heads[0].gain_ == heads[1].gain_ == heads[2].gain_


# ---- the run ---------------------------------------------------------------------------------------------------------


def test_zero_shot_is_measured_once_and_every_head_in_one_draw_before_the_next():
    listed = tasks()
    assert listed[:4] == [ZERO_SHOT, (0, 154, False), (0, 385, False), (0, 385, True)]
    assert len(set(listed)) == len(listed) == 1 + 3 * 3
    assert tasks(draws=1) == listed[:4]
    assert tasks(quick=True) == listed[:2]


def test_outcomes_are_counted_against_the_class_names(kept):
    outcomes = {one.way: one for one in PromptsExperiment(*kept).measure(ZERO_SHOT, ())}
    assert list(outcomes) == list(WAYS)
    _, test = drawn(*kept, draw=0).seen_by(WAYS["one_prompt"], 0)
    _, base = drawn(*kept, draw=0).seen_by(WAYS[BASE], 0)
    right, before = (part.logits.argmax(axis=1) == part.labels for part in (test, base))
    one = outcomes["one_prompt"]
    assert (one.error, one.wins, one.losses) == (np.mean(~right), np.sum(right & ~before), np.sum(before & ~right))
    assert outcomes["scale_1"].error == outcomes["scale_100"].error == outcomes[BASE].error
    assert outcomes["scale_1"].log_loss != outcomes["scale_100"].log_loss
    assert np.isnan(one.promised)


def test_what_autohead_warns_of_is_recorded(kept, monkeypatch):
    texts = drawn(*kept, draw=0)
    probabilities = WAYS[BASE]._replace(scores=lambda texts, prompts: np.full((len(texts), 3), 1 / 3), scale=1.0)
    assert fitted(probabilities, texts, Task(0, 40, False)).warned.startswith("logits look like probabilities")
    assert fitted(WAYS["scale_1"], texts, Task(0, 40, False)).warned == ""


def test_a_run_is_kept_and_resumed(kept, few, tmp_path, monkeypatch):
    pytest.importorskip("torch")
    monkeypatch.setattr(PromptsExperiment, "packages", lambda self: [])
    monkeypatch.setattr(measure, "WAYS", {name: WAYS[name] for name in (BASE, "largest_score")})
    path = tmp_path / "out" / "outcomes.csv"
    outcomes = PromptsExperiment(*kept).run(tasks(draws=1), path)
    assert [(*one.key, one.way) for one in outcomes] == [
        (0, labels, embeddings, way)
        for labels, embeddings in ((0, False), (40, False), (80, True))
        for way in (BASE, "largest_score")
    ]
    assert outcomes[-1].error < outcomes[0].error
    assert list(map(str, read_records(Outcome, path))) == list(map(str, outcomes))
    monkeypatch.setattr(PromptsExperiment, "measure", None)
    assert list(map(str, PromptsExperiment(*kept).run(tasks(draws=1), path))) == list(map(str, outcomes))


def test_the_code_that_the_experiment_names_exists():
    assert [name for name in PromptsExperiment.code if not (ROOT / "experiments" / name).exists()] == []


@pytest.mark.slow
def test_a_quick_run_from_texts_to_report(folder, encoder, few, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, ["prompts", "--quick", "--text", str(folder), "--jobs", "1"], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    assert "Written to results/prompts-quick" in done.output
    names = {path.name for path in (tmp_path / "results" / "prompts-quick").iterdir()}
    assert names == {"outcomes.csv", "run.json", "report.md", "table.md", "verdict.md"}
