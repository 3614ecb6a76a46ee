"""Shipped models: their scores, which are kept, and that these are what the packages themselves predict."""

import numpy as np
import pytest

from experiments.vendor import models, with_lingua, with_magika, with_py3langid
from experiments.vendor.models import Model, load
from experiments.vendor.pieces import Pieces

TEXTS = {
    "de": "Alle Menschen sind frei und gleich an Würde und Rechten geboren",
    "fr": "Tous les êtres humains naissent libres et égaux en dignité et en droits",
    "ja": "すべての人間は、生まれながらにして自由であり",
}
CODE = {
    "python": "import os\n\n\ndef main() -> None:\n    for path in os.listdir():\n        print(path)\n",
    "c": '#include <stdio.h>\n\nint main(void) {\n    printf("%d\\n", 3);\n    return 0;\n}\n',
}


def test_scores_are_computed_once_and_labels_are_columns(tmp_path, monkeypatch):
    asked = []

    def scores(texts):
        asked.append(list(texts))
        return np.array([[len(text), 0.0, 1.0] for text in texts], dtype=np.float32)

    pieces = Pieces(["a", "bbb"], ["z", "x"])
    model = Model("made", "numpy", "words", (3,), lambda *_: pieces, lambda: ["x", "y", "z"], scores)
    monkeypatch.setitem(models.MODELS, "made", model)
    first, second = load("made", 3, tmp_path), load("made", 3, tmp_path)
    assert asked == [["a", "bbb"]]
    assert first.labels.tolist() == second.labels.tolist() == [2, 0]
    np.testing.assert_array_equal(first.logits, [[1, 0, 1], [3, 0, 1]])
    np.testing.assert_array_equal(second.logits, first.logits)


@pytest.mark.slow
def test_py3langid_is_asked_as_its_own_command_asks_it():
    from py3langid import classify

    logits, names = with_py3langid.scores(list(TEXTS.values())), with_py3langid.classes()
    assert logits.shape == (3, 140)
    assert [names[column] for column in logits.argmax(axis=1)] == list(TEXTS)
    assert [classify(text)[0] for text in TEXTS.values()] == list(TEXTS)
    np.testing.assert_allclose(np.exp(logits.astype(float)).sum(axis=1), 1.0, atol=1e-5)


@pytest.mark.slow
def test_lingua_excludes_languages_and_their_scores_are_finite():
    logits, names = with_lingua.scores(list(TEXTS.values())), with_lingua.classes()
    assert logits.shape == (3, 75)
    assert [names[column] for column in logits.argmax(axis=1)] == list(TEXTS)
    assert logits.min() == pytest.approx(np.log(1e-12))


@pytest.mark.slow
def test_magika_has_the_probabilities_of_its_own_predictions():
    from magika import Magika

    longer = [*CODE.values(), CODE["python"] * 60]
    logits, names = with_magika.scores(longer), with_magika.classes()
    assert logits.shape == (3, 214)
    for row, text in zip(logits, longer, strict=True):
        result = Magika().identify_bytes(text.encode())
        assert names[row.argmax()] == str(result.dl.label)
        assert np.exp(row.max()) == pytest.approx(result.score, abs=1e-4)
