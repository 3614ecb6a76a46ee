"""The table of candidates: what it counts, and how it reads."""

import json

import numpy as np
import pytest

from aftermax._utils.comparison import Comparison
from aftermax._utils.paired_tests import mean_p_value, wins_and_losses
from aftermax.auto.candidates import Evaluation, OutOfFold, candidate_name, judge
from helpers.samples import weak_samples


def test_gain_p_value_and_table_follow_from_the_out_of_fold_predictions(fitted):
    logits, labels = weak_samples()
    before, after = logits.argmax(axis=1) == labels, fitted.held_out_ == labels
    wins, losses, errors = wins_and_losses(before, after)
    candidate = fitted.candidates_[candidate_name(fitted.chosen_, fitted.trust_)]
    comparison = Comparison.of(before, after)
    assert (candidate.wins, candidate.losses) == (wins, losses)
    assert candidate.gain == (wins - losses) / errors
    assert fitted.gain_ == comparison.selected_gain < candidate.gain
    assert (fitted.gain_interval_, fitted.gain_prediction_interval_) == comparison.intervals()
    assert candidate.gain_interval == fitted.gain_interval_
    assert candidate.p_value == comparison.p_value <= fitted.p_value_ < 0.001
    assert candidate.error == pytest.approx(1 - after.mean())
    assert fitted.candidates_["softmax"].error == pytest.approx(1 - before.mean())
    assert fitted.candidates_["softmax"].p_value == 1.0


def test_the_table_can_be_read_and_put_into_json(fitted):
    text = repr(fitted.candidates_)
    assert text.count("\n") == len(fitted.candidates_) + 1 == 11
    chosen = next(line for line in text.splitlines() if line.startswith("* ") and "chosen" not in line)
    assert "combination" in chosen
    names = ["softmax", "biases 1/2", "biases", "linear 1/2", "linear"]
    names += ["combination 1/4", "combination 1/2", "combination 3/4", "combination", "sph"]
    assert list(fitted.candidates_) == names
    for line, name in zip(text.splitlines()[1:], names, strict=False):
        assert line.removeprefix("*").strip().startswith(f"{name} ")
    plain = json.loads(json.dumps(fitted.candidates_.to_dict(), allow_nan=False))
    assert plain["linear 1/2"]["wins"] == fitted.candidates_["linear 1/2"].wins
    assert (plain["linear 1/2"]["tier"], plain["linear 1/2"]["trust"]) == ("linear", 0.5)
    assert plain["sph"]["log_loss"] is plain["sph"]["log_loss_p_value"] is None


def test_errors_and_losses_are_weighted_and_tested_by_group_on_what_was_held_out():
    rng = np.random.default_rng(0)
    codes, weights, groups = rng.integers(3, size=90), rng.uniform(0.5, 2.0, size=90), np.arange(90) // 3
    held_out = np.arange(90) < 60
    softmax, head = (OutOfFold(rng.integers(3, size=90), rng.uniform(0, 2, size=90)) for _ in range(2))
    evaluation = Evaluation(codes, weights, groups, held_out)
    comparison = evaluation.compare(softmax.predictions, head.predictions)
    before, after = (one.predictions[:60] == codes[:60] for one in (softmax, head))
    expected = Comparison.of(before, after, weights[:60], groups[:60])
    np.testing.assert_array_equal(comparison.drops, expected.drops)
    found = judge("linear", 0.5, head, softmax, comparison, evaluation)
    assert (found.name, found.description) == ("linear 1/2", "1/2 of that correction")
    assert found.error == pytest.approx(np.average(~after, weights=weights[:60]))
    assert found.log_loss == pytest.approx(np.average(head.losses[:60], weights=weights[:60]))
    drops = np.bincount(groups[:60], (softmax.losses - head.losses)[:60] * weights[:60])
    assert found.log_loss_p_value == pytest.approx(mean_p_value(drops))
