"""The guard: which candidate predicts, and what is proven."""

import numpy as np
import pytest

from aftermax._utils.paired_tests import adjusted_p_value, one_sided_mcnemar
from aftermax.auto.guard import CAUTIOUS, LIKELY, RICHEST, Judged, decide
from helpers.audits import comparison_of

NAN = float("nan")


def judged(wins, losses, *, tier="combination", trust=1.0, log_loss=0.5, loss_p_value=1e-6, errors=200, rows=1000):
    return Judged(tier, trust, comparison_of(wins, losses, errors, rows), log_loss, loss_p_value)


def chosen(*candidates, **options):
    found = decide(candidates, **options).chosen
    return None if found is None else found.key


def test_without_candidates_softmax_stays():
    assert decide([]) == (None, None, 1.0, False)


def test_a_clear_gain_is_chosen_and_proven():
    decision = decide([judged(60, 10)])
    assert decision.chosen == decision.tested
    assert decision.proven
    assert decision.p_value == one_sided_mcnemar(60, 10)


def test_a_loss_is_never_chosen_however_much_the_log_loss_gains():
    for trust in LIKELY:
        assert chosen(judged(10, 11, trust=trust, log_loss=0.01, loss_p_value=1e-30)) is None
        assert chosen(judged(10, 10, trust=trust, log_loss=0.01, loss_p_value=1e-30)) is None


def test_fewer_errors_are_not_enough_where_the_log_loss_is_not_lower():
    assert chosen(judged(60, 10, loss_p_value=0.06)) is None
    assert chosen(judged(60, 10, loss_p_value=0.04)) == ("combination", 1.0)


@pytest.mark.parametrize(("trust", "least"), LIKELY.items())
def test_the_more_is_trusted_the_more_evidence_is_needed(trust, least):
    """With 100 changes the standard deviation of wins less losses is 10."""
    tier = "linear"  # not the cautious one
    for net in range(2, 30, 2):
        one = judged(50 + net // 2, 50 - net // 2, tier=tier, trust=trust)
        assert (chosen(one) is not None) == (net > 10 * least)
    assert list(LIKELY.values()) == sorted(LIKELY.values())


def test_with_a_drop_that_may_be_chance_a_quarter_of_the_combination_is_the_most_that_is_trusted():
    quarter, full = judged(12, 10, trust=0.25), judged(30, 25, log_loss=0.4)
    assert (RICHEST[0], CAUTIOUS) == ("combination", 0.25)
    assert chosen(full) is None
    assert chosen(full, quarter) == ("combination", CAUTIOUS)
    assert not decide([full, quarter]).proven
    assert chosen(full, quarter._replace(tier="linear")) is None
    assert chosen(full, judged(10, 10, trust=0.25)) is None
    assert chosen(full, quarter._replace(loss_p_value=0.06)) is None


def test_errors_decide_who_is_eligible_and_log_loss_who_predicts():
    most_wins = judged(70, 10, tier="linear", log_loss=0.5)
    lowest_loss = judged(60, 20, log_loss=0.4)
    not_eligible = judged(40, 38, trust=0.5, log_loss=0.1)
    assert chosen(most_wins, lowest_loss, not_eligible) == ("combination", 1.0)


def test_sph_has_no_log_loss_and_is_chosen_if_it_corrects_more():
    sph, other = judged(60, 10, tier="sph", log_loss=NAN, loss_p_value=NAN), judged(50, 10)
    assert chosen(sph, other) == ("sph", 1.0)
    assert chosen(judged(40, 10, tier="sph", log_loss=NAN, loss_p_value=NAN), other) == ("combination", 1.0)
    assert chosen(judged(11, 10, tier="sph", log_loss=NAN, loss_p_value=NAN)) is None


def test_the_p_value_is_corrected_for_the_number_of_candidates():
    rng = np.random.default_rng(0)
    candidates = []
    for number, trust in enumerate(LIKELY):
        before, after = rng.random(200) < 0.6, rng.random(200) < 0.65 + 0.02 * number
        comparison = judged(0, 0)[2]._replace(drops=after.astype(float) - before, errors=(~before).astype(float))
        candidates.append(Judged("linear", trust, comparison, 0.5 - 0.1 * number, 1e-6))
    decision = decide(candidates)
    index = candidates.index(decision.tested)
    changes = np.stack([one.comparison.drops for one in candidates], axis=1)
    assert decision.p_value == adjusted_p_value(changes, index) >= decision.tested.comparison.p_value


def test_where_softmax_is_kept_the_test_is_of_the_best_candidate_and_nothing_is_proven():
    candidates = [judged(60, 10, tier="linear", loss_p_value=0.5), judged(10, 12)]
    decision = decide(candidates)
    assert decision.chosen is None
    assert decision.tested == candidates[0]
    assert decision.p_value < 0.001
    assert not decision.proven  # of what predicts, which is softmax


def test_only_what_is_proven_predicts_if_that_is_asked_for():
    likely = judged(30, 15)
    assert 0.01 < likely.comparison.p_value < 0.025
    assert decide([likely], alpha=0.01).chosen == likely
    assert not decide([likely], alpha=0.01).proven
    assert decide([likely], alpha=0.01, only_proven=True).chosen is None
    assert decide([likely], alpha=0.025, only_proven=True).chosen == likely
    assert decide([judged(60, 10)], alpha=0.0, only_proven=True).chosen is None


def test_nothing_is_proven_whose_interval_reaches_below_0():
    one = judged(20, 14, trust=0.25)
    assert one.comparison.intervals()[0][0] < 0
    decision = decide([one], alpha=0.5)
    assert (decision.chosen, decision.proven) == (one, False)
    assert decision.p_value < 0.5
