"""The verdict on the paper's claims about any model with K responses, in words, from the numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from aftermax._utils.text import percent, signed
from experiments.other_models.models import MODELS, REFERENCE
from experiments.other_models.results import Case, Results

FAR_BETTER = 0.2  # of the argmax's errors
MAX_WORSE = 0.05  # of the draws may be significantly worse: as many as chance makes, if nothing is gained or lost


class Tally(NamedTuple):
    """One method over some cases."""

    gain: float  # the mean over cases
    gaining: int  # cases with a mean gain above 0
    cases: int
    better: int  # draws in which it is significantly better
    worse: int
    draws: int

    @property
    def harmless(self) -> bool:
        return self.worse <= MAX_WORSE * self.draws


def tally(results: Results, method: str, cases: Sequence[Case]) -> Tally:
    """Sum up one method over cases."""
    cells = [results.cell(method, case) for case in cases]
    return Tally(
        float(np.mean([cell.gain for cell in cells])),
        sum(cell.gain > 0 for cell in cells),
        len(cells),
        sum(cell.better for cell in cells),
        sum(cell.worse for cell in cells),
        sum(cell.draws for cell in cells),
    )


def verdict(results: Results) -> str:
    """A paragraph for each claim."""
    return (
        "\n\n".join([_protocol(results), _honest(results), _scaled(results), _full_d(results), _auto(results)]) + "\n"
    )


def _protocol(results: Results) -> str:
    ceiling = tally(results, "sph_best_on_test", results.others)
    return (
        f"**SPH gains with any model, under the paper's protocol (*looks at the test labels*): "
        f"{yes_partly_no(ceiling.gaining, ceiling.cases)}.** Of the {ceiling.cases} cases of models that are not "
        f"softmax networks, {ceiling.gaining} have a gain above 0, {signed(ceiling.gain)} in the mean"
        f"{_reference(results, 'sph_best_on_test')}. It is the best of 107,640 combinations of hyperparameters, by the "
        "test labels, so a gain above 0 is easily had by chance; nobody can have it on new samples."
    )


def _honest(results: Results) -> str:
    honest = tally(results, "sph_chosen", results.others)
    gaining: list[str] = []
    without: list[str] = []
    for model, cases in results.by_model.items():
        count = tally(results, "sph_chosen", cases)
        (gaining if count.gain > 0 and count.better > count.worse else without).append(MODELS[model].title)
    return (
        f"**SPH gains with any model, chosen honestly: {yes_partly_no(len(gaining), len(gaining) + len(without))}.** "
        f"The mean gain is {signed(honest.gain)}{_reference(results, 'sph_chosen')}; {draws(honest)}, and keeps the "
        f"argmax in {kept(results)}. "
        f"Models with a gain: {', '.join(gaining) or 'none'}. Without: {', '.join(without) or 'none'}. "
        f"{'It does no harm' if honest.harmless else 'It does harm'}: significantly worse in "
        f"{percent(honest.worse / honest.draws)} of the draws (at most {percent(MAX_WORSE)} is taken for chance)."
    )


def _scaled(results: Results) -> str:
    scaled = tally(results, "sph_chosen_scaled", results.others)
    changed = [
        case
        for case in results.others
        if results.cell("sph_chosen_scaled", case).gain - results.cell("sph_chosen", case).gain >= 0.05
    ]
    named = [MODELS[model].title for model in MODELS if any(case[2] == model for case in changed)]
    plain = tally(results, "sph_chosen", results.others)
    helps = "yes" if scaled.gain > plain.gain and scaled.better > plain.better else "not shown"
    return (
        f"**Temperature scaling helps SPH, whose gate takes responses for logits: {helps}.** With it, fitted on the "
        f"same validation samples, the honest gain is {signed(scaled.gain)}, without it {signed(plain.gain)}; "
        f"{draws(scaled)}. It rises by five points or more in {len(changed)} of {scaled.cases} cases "
        f"({', '.join(named) or 'of no model'})."
    )


def _full_d(results: Results) -> str:
    gains = {case: results.cell("full_d", case).gain for case in results.others}
    far = sum(gain >= FAR_BETTER for gain in gains.values())
    worse = sum(gain < 0 for gain in gains.values())
    hebbian = ", ".join(
        f"{signed(gain)} ({results.title(case)})" for case, gain in gains.items() if case[2] == "hebbian"
    )
    return (
        f"**A classifier by the full D is sometimes far better than the argmax, and sometimes worse: "
        f"{'yes' if far and worse else 'no'}.** Naive Bayes on the responses has at least {percent(FAR_BETTER)} fewer "
        f"errors in {far} of {len(gains)} cases, and more errors in {worse}. After the Hebbian readout: "
        f"{hebbian}."
    )


def _auto(results: Results) -> str:
    auto = tally(results, "auto", results.others)
    worse = [
        f"{MODELS[case[2]].title} ({results.title(case)})"
        for case in results.others
        if results.cell("auto", case).worse
    ]
    return (
        f"**AutoHead** gains {signed(auto.gain)} in the mean{_reference(results, 'auto')}, above 0 in {auto.gaining} "
        f"of {auto.cases} cases; {draws(auto)}. Worse: {', '.join(worse) or 'nowhere'}."
    )


def kept(results: Results) -> int:
    """In how many draws of models that are not softmax networks the honest choice of SPH keeps the argmax."""
    return sum(
        outcome.method == "sph_chosen" and outcome.model != REFERENCE and outcome.chosen == "softmax"
        for outcome in results.outcomes
    )


def draws(count: Tally) -> str:
    return (
        f"of {count.draws} draws, it is significantly better in {count.better} and significantly worse in {count.worse}"
    )


def yes_partly_no(holding: int, of: int) -> str:
    """*Yes* if it holds everywhere, *partly* if in at least half, else *no*."""
    return "yes" if holding == of else "partly" if 2 * holding >= of else "no"


def _reference(results: Results, method: str) -> str:
    reference = [case for case in results.cases if case not in results.others]
    return f" (softmax networks: {signed(tally(results, method, reference).gain)})" if reference else ""
