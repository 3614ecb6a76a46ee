"""What is said of the paper's guesses follows from the outcomes."""

from dataclasses import replace

import pytest

from experiments.cifar.certainty import of_vmnist
from experiments.cifar.guesses import guesses, rank
from experiments.cifar.results import Results
from helpers.cifar_outcomes import made_behaviours, made_outcomes, outcome

DENSE = "depth: finished dense networks have more to gain"
SEPARATION = "the further D separates, the less to gain"


@pytest.fixture(scope="module")
def vmnist():
    return [of_vmnist(500)]


def judged(outcomes, vmnist, records=None):
    found = guesses(Results(outcomes), made_behaviours() if records is None else records, vmnist)
    return {claim.claim: claim for claim in found}


def test_guesses_of_made_outcomes(vmnist):
    found = judged(made_outcomes(), vmnist)
    assert found["scores bunch near 1 even where they are wrong"].verdict == "yes"  # up to 45 %, vMNIST's 21
    assert found["so certainty orders the samples less well"].verdict == "yes"  # 0.80 against 0.87
    assert found["temperature, which unbunches, adds to the gain"].theirs[1] is False
    assert found["more classes, same network: less to gain"].theirs[1] is True
    assert found["the same, with 200 samples throughout"].theirs[1] is False  # the made gains depend on the draw only
    assert found["longer training: less to gain"].verdict == "yes"
    assert found[SEPARATION].verdict == "yes"
    assert found["fewer training samples: more to gain"].verdict == "yes"
    assert found["under shift the gain returns"].verdict == "yes"
    assert found["unbalanced classes: more to gain"].theirs[1] is True


@pytest.mark.parametrize(("dense", "holds"), [(0.1, True), (0.03, False)])
def test_networks_of_the_same_accuracy_are_compared_each_in_one_pair(vmnist, dense, holds):
    common = {"part": "samples", "softmax_accuracy": 0.5}
    outcomes = [outcome("auto", dense, network=f"dense-{n}", variant=str(n), **common) for n in (500, 2_000)]
    outcomes += [outcome("auto", 0.03, network="convolutional-500", variant="500", **common)]
    text, verdict = judged(outcomes, vmnist)[DENSE].auto
    assert "in 1 pairs" in text
    assert verdict is holds


def test_a_correlation_must_be_there_in_both_runs(vmnist):
    changed = [
        replace(o, gain=float(o.variant)) if (o.part, o.network) == ("training", "run-dense") else o
        for o in made_outcomes()
    ]
    found = judged(changed, vmnist)
    assert found["longer training: less to gain"].verdict == "no"
    assert "dense: rank correlation +1.00" in found["longer training: less to gain"].theirs[0]


def test_a_guess_that_was_not_measured_is_not_judged(vmnist):
    found = judged([outcome("auto")], vmnist)
    assert found["longer training: less to gain"].verdict == "not tested"
    assert found["under shift the gain returns"].verdict == "not tested"


def test_where_nothing_is_gained_there_is_nothing_to_correlate():
    assert rank([outcome("auto", 0.0)] * 5, range(5)) == ("+0.0 % in all 5", False)
