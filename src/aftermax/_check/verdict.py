"""The check's verdict: what to do with the head, and why, in one sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aftermax._check.comparisons import Compared, RefitCompared
from aftermax._heads.fingerprint import MOST_OF_THEM, NOTABLE
from aftermax._utils.paired_tests import ALPHA, samples_range
from aftermax._utils.text import fewer, fewer_between, p_value, percent, rounded_up

if TYPE_CHECKING:
    from aftermax._check.result import Check

# Level of the test that a refit makes fewer errors than the shipped head. It is stricter than others, as the refit's
# candidate was chosen by the same out-of-fold predictions that it is judged by.
REFIT_LEVEL = 0.005
HARM = -0.05  # a head that keeps its promise is kept if its gain is at least this, by the lower end of its interval
NO_REFERENCE = (
    "The head has no reference, as its file is of an older format, so nothing can be said about drift: fit and save it "
    "again."
)
NO_PROOF = (
    "Without labels this does not show whether the head's predictions are worse: label some samples, and check again."
)


# ---- what to do ------------------------------------------------------------------------------------------------------


def action(check: Check) -> str:
    """What to do: "keep", "refit", "drop" or "not enough"."""
    found = check.against_softmax
    if found is None or was_fitted_on(check) or check.n_samples == 1:
        return "not enough"
    if found.p_more < ALPHA and not (check.refit is not None and check.refit.proven):
        return "drop"
    if _refit_is_better(check):
        return "refit"
    return "keep" if _is_good(check) else "not enough"


def was_fitted_on(check: Check) -> bool:
    """Whether the head was fitted on these samples, or on a notable part of them."""
    return check.fitted_on_share >= NOTABLE


def _refit_is_better(check: Check) -> bool:
    found, refit = check.against_softmax, check.refit
    if found is None or refit is None or refit.keeps_softmax:
        return False
    if found.p_more < ALPHA or check.keeps_softmax:
        return refit.proven
    return refit.against_head.p_fewer < REFIT_LEVEL


def _is_good(check: Check) -> bool:
    found = check.against_softmax
    return found is not None and (check.keeps_softmax or found.p_fewer < ALPHA or _keeps_its_promise(check))


def _keeps_its_promise(check: Check) -> bool:
    """Whether the gain may well be what was promised, and is not much of a loss."""
    if check.promised_interval is None or check.against_softmax is None:
        return False
    (low, high), (least, most) = check.against_softmax.gain_interval, check.promised_interval
    return low > HARM and low <= most and high >= least


# ---- in words --------------------------------------------------------------------------------------------------------


def verdict(check: Check) -> str:
    """Say in one sentence what to do; without labels, whether the samples look like those of the fit."""
    found = check.against_softmax
    if found is None:
        return drift_sentence(check) if was_fitted_on(check) else f"{drift_sentence(check)} {NO_PROOF}"
    if check.n_samples == 1:
        return "Not enough samples to tell: one sample proves nothing; label more, and check again."
    if was_fitted_on(check):
        return f"Nothing can be told: {_fitted_on(check)}, which prove nothing; pass samples that came later."
    if check.action == "refit" and check.refit is not None:
        return _refit(check, found, check.refit)
    return {"keep": _keep, "drop": _drop}.get(check.action, _not_enough)(check, found)


def drift_sentence(check: Check) -> str:
    """Whether the samples look like those of the fit, if that can be told."""
    if was_fitted_on(check):
        start = _fitted_on(check)
        return f"{start[0].upper()}{start[1:]}, so nothing can be said about drift: pass samples that came later."
    return NO_REFERENCE if check.drift is None else check.drift.sentence


def _fitted_on(check: Check) -> str:
    if check.fitted_on_share == 1:
        return "these are samples that the head was fitted on"
    some = "most" if check.fitted_on_share >= MOST_OF_THEM else "some"  # it is an estimate
    return f"{some} of these are samples that the head was fitted on"


def _keep(check: Check, found: Compared) -> str:
    if check.keeps_softmax:
        return (
            f"Keep: the head predicts as softmax does (error {percent(found.error_before)} on {found.n_samples:,} "
            "samples), and nothing is proven to be better."
        )
    if found.p_fewer >= ALPHA:
        return (
            f"Keep: {_of_the_head(found)}; that is not significant by itself, but agrees with the "
            f"{_promise(check)} that the fit promised."
        )
    broken = check.promised_interval is not None and found.gain_interval[1] < check.promised_interval[0]
    less = f"; that is less than the {_promise(check)} that the fit promised" if broken else ""
    return f"Keep: {_of_the_head(found)}{less}."


def _refit(check: Check, found: Compared, refit: RefitCompared) -> str:
    if check.keeps_softmax:
        return (
            "Refit: the head predicts as softmax does, and one that is fitted on these samples makes "
            f"{fewer(refit.against_softmax.gain)} errors, out-of-fold ({_numbers(refit.against_softmax)})."
        )
    if found.p_more < ALPHA:
        return (
            f"Refit: {_of_the_head(found)}; one that is fitted on these samples makes "
            f"{fewer(refit.against_softmax.gain)} errors than softmax, out-of-fold ({_numbers(refit.against_softmax)})."
        )
    return (
        f"Refit: a head that is fitted on these samples makes {fewer(refit.against_head.gain)} errors than this one, "
        f"out-of-fold ({_numbers(refit.against_head)})."
    )


def _drop(check: Check, found: Compared) -> str:
    refit = "" if check.refit is None else ", and one that is fitted on these samples is not proven to make fewer"
    return f"Drop: {_of_the_head(found)}{refit}; go back to softmax."


def _not_enough(check: Check, found: Compared) -> str:
    needed = check.samples_needed
    if needed is None:
        more = "label more samples, and check again"
    else:
        more = f"to prove it, about {rounded_up(needed[0]):,} to {rounded_up(needed[1]):,} samples would be needed"
    return f"Not enough samples to tell: {_of_the_head(found)}, which may be chance; {more}."


def _of_the_head(found: Compared) -> str:
    if found.error_before == 0:
        made = "neither does the head" if found.losses == 0 else f"the head makes {found.losses:,}"
        p = f" (p {p_value(found.p_more)})" if found.losses else ""
        return f"softmax makes no errors on these {found.n_samples:,} samples, and {made}{p}"
    if found.wins + found.losses == 0:
        return f"the head changes no prediction of these {found.n_samples:,} samples from wrong to right or back"
    return f"the head makes {fewer(found.gain)} errors {_than_softmax(found)} ({_numbers(found)})"


def _than_softmax(found: Compared) -> str:
    return "as softmax" if fewer(found.gain) == "as many" else "than softmax"


def _numbers(found: Compared) -> str:
    """Errors, interval and the p-value of the direction that was found."""
    p = found.p_fewer if found.gain >= 0 else found.p_more
    return (
        f"{percent(found.error_before)} before, {percent(found.error_after)} after, on {found.n_samples:,} samples; "
        f"95 % interval: {fewer_between(*found.gain_interval)}; p {p_value(p)}"
    )


def _promise(check: Check) -> str:
    return fewer_between(*(check.promised_interval or (0.0, 0.0)))


def samples_needed(found: Compared) -> tuple[int, int] | None:
    """Between which numbers of samples a proof of what was found may be expected to need."""
    wins, losses = (found.wins, found.losses) if found.gain >= 0 else (found.losses, found.wins)
    return samples_range(wins - losses, wins + losses, found.n_samples)
