"""What is said of the paper's findings follows from the outcomes."""

import pytest

from experiments.cifar.claims import findings
from experiments.cifar.results import Results
from helpers.cifar_outcomes import made_outcomes, outcome
from helpers.outcomes import vmnist_results

VMNIST = vmnist_results(ceiling=(0.2, 0.15, 0.1), honest=(0.17, 0.0, 0.0))


def by_name(claims):
    return {claim.claim: claim for claim in claims}


def test_findings_of_made_outcomes():
    found = by_name(findings(Results(made_outcomes()), VMNIST))
    assert found["softmax's accuracy, CIFAR-10"].verdict == "no"  # the made ones begin at 52 %
    assert found["reduction of the error, CIFAR-10"].theirs == ("2.0 to 2.0 %, mean 2.0 %", True)
    assert found["reduction of the error, CIFAR-100"].theirs == ("2.0 to 2.0 %, mean 2.0 %", False)
    assert found["deep networks against vMNIST's"].verdict == "yes"
    assert found["more classes"].theirs[1] is False
    assert found["some benefit is left"].theirs[1] is True


def test_a_network_that_is_significantly_worse_is_no_benefit():
    outcomes = [outcome("auto"), outcome("auto", -0.1, network="cifar10-16", wins=20, losses=60)]
    assert by_name(findings(Results(outcomes), VMNIST))["some benefit is left"].auto == (
        "1 of 2 better, 1 worse; significantly: 1 better, 1 worse",
        False,
    )


@pytest.mark.parametrize(("gain", "holds"), [(0.0, False), (0.008, True), (0.04, False)])
def test_no_gain_at_all_is_not_the_papers_small_one(gain, holds):
    outcomes = [outcome("sph_chosen", gain, network=name) for name in ("cifar10-8", "cifar10-16")]
    assert by_name(findings(Results(outcomes), VMNIST))["reduction of the error, CIFAR-10"].honest[1] is holds


def test_what_was_picked_by_test_labels_is_not_called_significant():
    found = by_name(findings(Results([outcome("sph_best_on_test")]), VMNIST))
    assert "significantly" not in found["some benefit is left"].theirs[0]
