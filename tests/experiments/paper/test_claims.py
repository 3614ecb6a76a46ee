"""The paper's claims, and the training samples that softmax wastes."""

from dataclasses import replace

import numpy as np
import pytest

from experiments.paper.claims import Claim
from experiments.paper.results import Results
from experiments.paper.wasted_samples import wasted_samples
from helpers.outcomes import claims_by_name, vmnist_results


@pytest.mark.parametrize("bend", [-0.02, 0.0, 0.02])
def test_who_learns_as_much_from_half_the_samples_has_the_other_half_wasted(bend):
    def errors(samples):
        return [float(10 ** (0.2 - 0.3 * np.log10(samples) + bend * np.log10(samples) ** 2))] * 3

    sizes = (100, 500, 2_000, 10_000)
    waste = wasted_samples({n: errors(n) for n in sizes}, {n: errors(2 * n) for n in sizes})
    np.testing.assert_allclose(waste.wasted, 0.5, atol=1e-6)
    np.testing.assert_allclose(waste.factor, 2.0, atol=1e-6)
    np.testing.assert_allclose(waste.samples, 2 * np.array(sizes))
    np.testing.assert_allclose(waste.low, 0.5, atol=1e-6)


def test_where_the_error_is_softmaxs_nothing_is_wasted_however_badly_the_curve_fits():
    softmax = {100: [0.3, 0.4], 500: [0.29, 0.33], 2_000: [0.1, 0.2], 10_000: [0.09, 0.05]}
    waste = wasted_samples(softmax, softmax | {500: [0.2, 0.2]})
    np.testing.assert_array_equal(waste.wasted[[0, 2, 3]], 0.0)
    np.testing.assert_array_equal(waste.low[[0, 2, 3]], 0.0)
    assert 0 < waste.low[1] < waste.wasted[1] < waste.high[1] < 1
    worse = wasted_samples(softmax, softmax | {500: [0.35, 0.35]})
    assert worse.wasted[1] < 0


def test_a_curve_that_rises_and_errors_of_zero_have_an_answer():
    waste = wasted_samples({100: [0.1], 500: [0.2], 2_000: [0.3]}, {100: [0.05], 500: [0.0], 2_000: [0.3]})
    assert np.isfinite(waste.wasted).all()


def test_claims_are_held_against_both_protocols():
    found = claims_by_name(vmnist_results(ceiling=(0.2, 0.1, 0.07), honest=(0.1, 0.0, 0.0)))
    assert found["softmax's mean accuracy"].verdict == "yes"
    reduction = found["mean reduction of the error"]
    assert (reduction.theirs, reduction.honest) == (("7.0 to 20.0 %", True), ("0.0 to 10.0 %", False))
    assert reduction.verdict == "only under its protocol"
    assert found["models that benefit"].theirs == ("6 of 6 better, 0 worse, 0 the same", True)
    assert found["models that benefit"].honest == ("2 of 6 better, 0 worse, 4 the same", False)
    assert found["trend of the reduction"].verdict == "yes"
    assert found["reduction where softmax is above 93 %"].verdict == "only under its protocol"
    assert found["inserted layer (linear)"].verdict == "yes"
    assert found["naive Bayes (on training samples)"].verdict == "yes"
    assert found["naive Bayes (on validation samples)"].verdict == "no"


def test_a_reduction_beyond_the_papers_range_does_not_hold_either():
    found = claims_by_name(vmnist_results(ceiling=(0.285, 0.1, 0.07), honest=(0.285, 0.1, 0.07)))
    assert found["mean reduction of the error"].verdict == "no"
    assert "23 % in the abstract" in found["mean reduction of the error"].paper


def test_auto_head_stands_beside_the_verdict_on_sph_and_may_be_above_the_papers_range():
    gains = {"ceiling": (0.2, 0.1, 0.07), "honest": (0.1, 0.0, 0.0)}
    strong = claims_by_name(vmnist_results(**gains, auto=(0.6, 0.3, 0.1)))
    weak = claims_by_name(vmnist_results(**gains, auto=(0.6, 0.3, 0.01)))
    reduction = "mean reduction of the error"
    assert (strong[reduction].auto, weak[reduction].auto) == (("10.0 to 60.0 %", True), ("1.0 to 60.0 %", False))
    waste = "virtual training samples, and waste"
    assert (strong[waste].auto[1], weak[waste].auto[1]) == (True, False)
    assert strong[waste].verdict == weak[waste].verdict
    assert strong["inserted layer (linear)"].auto is None


def test_a_layer_that_gains_at_one_size_is_a_gain():
    outcomes = vmnist_results(ceiling=(0.2, 0.1, 0.07), honest=(0.1, 0.0, 0.0)).outcomes
    gains = [replace(o, gain=0.05) if (o.method, o.trained_on) == ("inserted_relu", 1_000) else o for o in outcomes]
    assert claims_by_name(Results(gains))["inserted layer (after a ReLU)"].verdict == "no"


def test_claims_by_name():
    assert Claim("", "", ("", False), ("", True)).verdict == "only honestly"
    assert Claim("", "", ("", None), ("", True)).verdict == "not tested"
    assert Claim("", "", ("", True), None).verdict == "yes"


def test_two_sizes_are_too_few_for_a_verdict():
    outcomes = vmnist_results(ceiling=(0.2, 0.1, 0.07), honest=(0.1, 0.0, 0.0)).outcomes
    few_sizes = Results([o for o in outcomes if o.trained_on < 50_000])
    assert {claim.verdict for claim in claims_by_name(few_sizes).values()} == {"not tested"}
    weak = Results([replace(o, trained_on=o.trained_on // 10, accuracy=min(o.accuracy, 0.9)) for o in outcomes])
    assert claims_by_name(weak)["softmax's mean accuracy"].verdict == "not tested"
    assert claims_by_name(weak)["reduction where softmax is above 93 %"].verdict == "not tested"


def test_where_every_network_keeps_softmax_the_claims_are_still_judged():
    found = claims_by_name(vmnist_results(ceiling=(0.2, 0.1, 0.07), honest=(0.0, 0.0, 0.0)))
    assert found["models that benefit"].honest == ("0 of 6 better, 0 worse, 6 the same", False)
    assert found["trend of the reduction"].verdict == "only under its protocol"
    assert found["virtual training samples, and waste"].honest == ("1.00 to 1.00 times: 0 to 0 %", False)
