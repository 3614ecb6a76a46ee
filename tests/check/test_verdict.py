"""The verdict: what follows from which evidence, and how it is put into words."""

import pytest

from aftermax import Check
from aftermax._check.comparisons import Compared, RefitCompared
from aftermax._check.drift import Change, Drift

BETTER = {"gain": 0.3, "gain_interval": (0.1, 0.5), "wins": 40, "losses": 10, "p_fewer": 0.001, "p_more": 1.0}
WORSE = {"gain": -0.3, "gain_interval": (-0.5, -0.1), "wins": 10, "losses": 40, "p_fewer": 1.0, "p_more": 0.001}
UNSURE = {"gain": 0.1, "gain_interval": (-0.2, 0.4), "wins": 20, "losses": 10, "p_fewer": 0.05, "p_more": 0.95}
HARMLESS = UNSURE | {"gain_interval": (-0.03, 0.2)}
NOTHING = {"gain": 0.0, "gain_interval": (-0.02, 0.02), "wins": 0, "losses": 0, "p_fewer": 1.0, "p_more": 1.0}


def compared(numbers):
    error = 0.2 * (1 - numbers["gain"])
    return Compared(n_samples=500, error_before=0.2, error_after=error, **numbers)


def refit(against_softmax, against_head, proven=False, keeps_softmax=False):
    return RefitCompared(compared(against_softmax), compared(against_head), proven, keeps_softmax)


def made(found, again=None, **others):
    values = {"promised_interval": (0.1, 0.4), "chosen": "combination", "refit": again} | others
    return Check(n_samples=500, against_softmax=compared(found), **values)


@pytest.mark.parametrize(
    ("check", "action"),
    [
        (made(BETTER), "keep"),
        (made(BETTER, refit(BETTER, UNSURE, proven=True)), "keep"),
        (made(BETTER, refit(BETTER, BETTER, proven=True)), "refit"),
        (made(UNSURE, refit(UNSURE, BETTER)), "refit"),
        (made(UNSURE, refit(UNSURE, BETTER | {"p_fewer": 0.01})), "not enough"),  # the refit was chosen by the same
        (made(UNSURE, refit(NOTHING, BETTER, keeps_softmax=True)), "not enough"),
        (made(WORSE), "drop"),
        (made(WORSE, refit(NOTHING, BETTER, keeps_softmax=True)), "drop"),
        (made(WORSE, refit(UNSURE, BETTER)), "drop"),
        (made(WORSE, refit(BETTER, BETTER, proven=True)), "refit"),
        (made(UNSURE), "not enough"),
        (made(HARMLESS), "keep"),
        (made(HARMLESS, promised_interval=(0.3, 0.6)), "not enough"),
        (made(HARMLESS, promised_interval=None), "not enough"),
        (made(NOTHING, chosen="softmax"), "keep"),
        (made(NOTHING, refit(UNSURE, UNSURE), chosen="softmax"), "keep"),
        (made(NOTHING, refit(BETTER, BETTER, proven=True), chosen="softmax"), "refit"),
        (made(BETTER, fitted_on_share=1.0), "not enough"),
        (made(BETTER, fitted_on_share=0.04), "keep"),
        (Check(n_samples=9, chosen="sph"), "not enough"),
    ],
)
def test_the_action_follows_from_the_evidence(check, action):
    starts = {"keep": "Keep: ", "refit": "Refit: ", "drop": "Drop: ", "not enough": "Not enough samples to tell: "}
    if check.was_fitted_on:
        starts["not enough"] = "Nothing can be told: "
    assert check.action == action
    if check.against_softmax is not None:
        assert check.verdict.startswith(starts[action])
    assert check.verdict.endswith(".")


def test_numbers_are_in_the_sentence():
    assert made(BETTER).verdict == (
        "Keep: the head makes 30.0 % fewer errors than softmax (20.0 % before, 14.0 % after, on 500 samples; 95 % "
        "interval: 10.0 % to 50.0 % fewer; p = 0.001)."
    )
    assert made(WORSE).verdict == (
        "Drop: the head makes 30.0 % more errors than softmax (20.0 % before, 26.0 % after, on 500 samples; 95 % "
        "interval: 10.0 % to 50.0 % more; p = 0.001); go back to softmax."
    )


def test_what_was_promised_is_in_the_sentence_if_it_matters():
    less = "; that is less than the 60.0 % to 70.0 % fewer that the fit promised."
    assert made(BETTER, promised_interval=(0.6, 0.7)).verdict.endswith(less)
    agrees = "; that is not significant by itself, but agrees with the 10.0 % to 40.0 % fewer that the fit promised."
    assert made(HARMLESS).verdict.endswith(agrees)


def test_how_many_samples_are_needed_is_said_if_it_is_known():
    assert made(UNSURE).verdict.endswith(", which may be chance; label more samples, and check again.")
    needed = made(UNSURE, samples_needed=(612, 5043)).verdict
    assert needed.endswith("; to prove it, about 620 to 5,100 samples would be needed.")


def test_a_head_that_changes_nothing_here_is_said_to():
    assert "the head changes no prediction of these 500 samples" in made(NOTHING, promised_interval=(0.3, 0.6)).verdict


def test_drift_is_named_with_what_was_and_what_is():
    changes = (
        Change("certainty", None, 0.85, 0.71, -0.6, 1e-9),
        Change("predicted share", "cat", 0.12, 0.31, 0.47, 1e-6),
        Change("predicted share", "dog", 0.5, 0.49, -0.02, 1e-6),
        Change("mean logit", "dog", -1.0, -1.1, -0.3, 0.2),
    )
    assert Drift(400, 500, changes).sentence == (
        "The new samples do not look like those that the head was fitted on: certainty 0.71, was 0.85; class 'cat' is "
        "predicted for 31.0 %, was 12.0 %."
    )
    many = Drift(400, 500, changes[:2] * 3)
    assert many.sentence.endswith("; and 3 more changes.")
