"""What is said of the paper's findings and guesses follows from the outcomes."""

import numpy as np
import pytest

from experiments.cifar.certainty import certainty_of
from experiments.cifar.claims import findings, guesses
from experiments.cifar.results import Results
from experiments.networks.samples import Samples
from helpers.cifar_outcomes import made_outcomes, outcome
from helpers.outcomes import vmnist_results

VMNIST = vmnist_results(ceiling=(0.2, 0.15, 0.1), honest=(0.17, 0.0, 0.0))


@pytest.fixture
def certainty():
    rng = np.random.default_rng(0)
    labels = np.arange(400) % 4
    return certainty_of("made", Samples((rng.normal(size=(400, 4)) + np.eye(4)[labels]).astype(np.float32), labels))


def by_name(claims):
    return {claim.claim: claim for claim in claims}


def test_findings_of_made_outcomes():
    found = by_name(findings(Results(made_outcomes()), VMNIST))
    assert found["softmax's accuracy, CIFAR-10"].verdict == "no"  # the made ones begin at 52 %
    assert found["reduction of the error, CIFAR-10"].theirs == ("2.0 to 2.0 %", True)
    assert found["reduction of the error, CIFAR-100"].theirs == ("2.0 to 2.0 %", False)
    assert found["deep networks against vMNIST's"].verdict == "yes"
    assert found["more classes"].theirs[1] is False
    assert found["some benefit is left"].theirs[1] is True


def test_a_network_that_is_significantly_worse_is_no_benefit():
    outcomes = [outcome("auto"), outcome("auto", -0.1, network="cifar10-16", wins=20, losses=60)]
    assert by_name(findings(Results(outcomes), VMNIST))["some benefit is left"].auto == (
        "1 of 2 better (1 significantly), 1 worse",
        False,
    )


def test_guesses_of_made_outcomes(certainty):
    found = by_name(guesses(Results(made_outcomes()), [certainty], [certainty]))
    assert found["scores bunch near 1 even where they are wrong"].verdict == "no"  # as bunched as the other
    assert found["without the bunching there is more to gain"].theirs[1] is False
    assert found["fewer classes, same network: more to gain"].theirs[1] is True
    assert found["longer training: less to gain"].verdict == "yes"
    assert found["the further D separates the classes, the less to gain"].verdict == "yes"
    dense = found["depth: a dense network of the same accuracy has more to gain"]
    assert dense.verdict == "no"
    assert "over 9 pairs" in dense.theirs[0]
    assert found["fewer training samples: more to gain"].verdict == "yes"
    assert found["under shift the gain returns"].verdict == "yes"


def test_a_guess_that_was_not_measured_is_not_judged(certainty):
    found = by_name(guesses(Results([outcome("auto")]), [certainty], [certainty]))
    assert found["longer training: less to gain"].verdict == "not tested"
    assert found["under shift the gain returns"].verdict == "not tested"
