"""The table of candidates: what it counts, and how it reads."""

import json

import pytest

from aftermax._utils.paired_tests import wins_and_losses
from helpers.samples import weak_samples


def test_gain_p_value_and_table_follow_from_the_out_of_fold_predictions(fitted):
    logits, labels = weak_samples()
    before, after = logits.argmax(axis=1) == labels, fitted.held_out_ == labels
    wins, losses, errors = wins_and_losses(before, after)
    candidate = fitted.candidates_["combination"]
    assert (candidate.wins, candidate.losses) == (wins, losses)
    assert fitted.gain_ == candidate.gain == (wins - losses) / errors
    assert candidate.error == pytest.approx(1 - after.mean())
    assert fitted.candidates_["softmax"].error == pytest.approx(1 - before.mean())
    assert fitted.candidates_["softmax"].p_value == 1.0


def test_the_table_can_be_read_and_put_into_json(fitted):
    text = repr(fitted.candidates_)
    assert text.count("\n") == len(fitted.candidates_) + 1
    chosen = next(line for line in text.splitlines() if line.startswith("* ") and "chosen" not in line)
    assert "combination" in chosen
    for name in ("softmax", "biases", "gaussian", "linear", "kernel", "combination", "sph"):
        assert name in text
    assert json.loads(json.dumps(fitted.candidates_.to_dict()))["kernel"]["wins"] == fitted.candidates_["kernel"].wins
