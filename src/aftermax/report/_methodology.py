"""How the numbers of the report were computed, for the head that was audited."""

from __future__ import annotations

import platform

import numpy as np
import sklearn
from numpy.typing import NDArray

from aftermax import __version__
from aftermax._audit.result import Audit
from aftermax._audit.verdict import class_mix
from aftermax._utils.paired_tests import ALPHA, POWER
from aftermax.auto.head import AutoHead
from aftermax.report._response_data import MAX_PICKED_CLASSES, MAX_UNITS
from aftermax.report._text import definition_list
from aftermax.sph.classifier_cv import SPHClassifierCV

KNOWN_PARAMETERS = {  # of the heads of aftermax; parameters of other heads may hold anything, also paths
    "AutoHead": ("cv", "alpha", "only_proven", "keep_unlabelled", "budget"),
    "SPHClassifierCV": ("cv", "n_repeats", "alpha"),
    "Decider": ("cv", "max_error", "confidence"),
    "SPHClassifier": ("certainty", "center", "min_separation", "weight_power", "veto_distance", "veto_count"),
}
GAIN = (
    "The gain is wins minus losses, divided by softmax's errors, each weighted if samples are. Of a head that was "
    "selected for its gain, it is shrunk towards 0 (James-Stein), because the largest of several estimates is likely "
    "to be too large. The 95 % interval is of the true gain: wins, losses, and samples that are wrong or right in both "
    "have a Dirichlet posterior with Jeffreys' prior. The range on as many new samples is wider, as these have their "
    "own luck."
)
SAMPLES_NEEDED = (
    f"How many labelled samples it takes to prove a gain by McNemar's test (one-sided, {100 * ALPHA:g} %) with a power "
    f"of {100 * POWER:g} %: the ends of the range are for a gain that is one standard error larger, and one smaller, "
    "than here. Where the smaller one is hardly a gain, nothing can be said."
)
DECISIONS = (
    "The decision is the one with the lowest expected cost by the head's probabilities, or by another rule that is "
    "better out-of-fold: each sample was decided by a rule that was chosen and fitted without its fold. The interval "
    "of what is saved or gained is paired: by Student's t for costs, by the Bayesian bootstrap for a metric. The "
    "p-value is that of a permutation test, which swaps the decisions before and after. Both count groups, if there "
    "are any. Errors are reported beside it: decisions that cost less may be wrong more often."
)
ABSTENTION = (
    "Samples are kept in the order of the out-of-fold probability of what is predicted, the most certain first. After "
    "each it is tested whether the error of the kept ones is below the largest acceptable one, by the exact binomial "
    "tail (Clopper and Pearson, 1934), and the first failure ends it (fixed-sequence testing, as in Learn then Test by "
    "Angelopoulos et al., 2021). So the promise holds at its confidence although the threshold was chosen by looking. "
    "With groups or weights, the bound is Chernoff's, in which a group counts once."
)
CERTAINTY_AND_RESPONSES = (
    "Certainty is the largest softmax probability of a sample. The response array D describes all samples: the mean "
    "response of each unit to each class, and a spread on either side. Neither depends on the head. Of more than "
    f"{MAX_PICKED_CLASSES} classes, D has those of the pairs that are shown and those with the most errors of softmax, "
    f"with their samples and their units alone; of more than {MAX_UNITS} units, those with the largest separation are "
    "drawn."
)
CONTENTS = "Counts and averages only, no single sample. It loads nothing and sends nothing."


def methodology(audit: Audit) -> str:
    """The last part of the page: what was computed, and how."""
    page = {"Certainty and response array": CERTAINTY_AND_RESPONSES, "What this file holds": CONTENTS}
    return definition_list(methods(audit) | page | {"Versions": f"{versions()}."})


def methods(audit: Audit) -> dict[str, str]:
    """How each kind of figure was computed."""
    return {
        "Samples": f"{audit.rows:,} labelled samples, {len(audit.classes):,} classes. {_samples_per_class(audit)}",
        "The head": _head(audit),
        "Out-of-fold predictions": _out_of_fold(audit),
        "Before and after": _before_and_after(audit),
        **({} if audit.outcome is None else {"Decisions": DECISIONS}),
        **({} if audit.abstention is None else {"What is decided alone": ABSTENTION}),
        "Gain and interval": GAIN,
        "Tests": _tests(audit),
        "Samples needed": SAMPLES_NEEDED,
    }


def versions() -> str:
    """The versions that the audit was made with."""
    return (
        f"aftermax {__version__}, numpy {np.__version__}, scikit-learn {sklearn.__version__}, "
        f"Python {platform.python_version()}"
    )


def _samples_per_class(audit: Audit) -> str:
    counts = [one.rows for one in audit.by_class]
    missing = counts.count(0)
    return f"Samples of each class: {min(counts):,} to {max(counts):,}" + (
        f"; {missing:,} of the classes have none." if missing else "."
    )


def described_head(audit: Audit) -> str:
    """The class of the head, those of its parameters that are known, and what it was fitted on."""
    name = type(audit.head).__name__
    parameters = {known: getattr(audit.head, known) for known in KNOWN_PARAMETERS.get(name, ())}
    given = [f"{known}={value}" for known, value in parameters.items() if value is not None]
    head = f"{name}({', '.join(given)})" if given else name
    return f"{head}. It keeps softmax." if audit.chosen == "softmax" else f"{head}, fitted on all of these samples."


def _head(audit: Audit) -> str:
    if audit.chosen == "softmax":
        return described_head(audit)
    chosen = "" if audit.chosen == type(audit.head).__name__ else f" It predicts by: {audit.chosen}."
    weighted = " Samples are weighted: errors, gain and p-value are, and counts are not."
    mix = f" {class_mix(audit)}"
    return f"{described_head(audit)}{chosen}{weighted if audit.weighted else ''}{mix}"


def _out_of_fold(audit: Audit) -> str:
    """Which heads made the predictions that "after" counts."""
    head = audit.head
    if isinstance(head, AutoHead):
        default = "10 folds (5 with at least 1,000 samples), twice unless their logits are many"
        folds = default if head.cv is None else "folds by the cv that was set"
        return (
            f"The samples were divided into {folds}, at random; samples that belong together were held out together. "
            "Each sample was predicted by candidates that were fitted, hyperparameters and stacking weights included, "
            "without its fold. Where there are too many "
            "samples to fit on all, those left out are predicted by the head itself, which was fitted without them."
        )
    if isinstance(head, SPHClassifierCV):
        return (
            f"The samples were divided into {head.cv} folds, at random. Each sample was predicted with "
            "hyperparameters chosen, and a response array computed, without its fold."
        )
    if hasattr(head, "held_out_"):
        return "The head provides its own out-of-fold predictions (its attribute held_out_)."
    return (
        "The head was cross-validated: the samples were divided into folds (audit's cv, 5 by default), at random, and "
        "each sample was predicted by a copy fitted without its fold."
    )


def _before_and_after(audit: Audit) -> str:
    text = "Before is the class with the largest logit. After is the out-of-fold prediction of the same samples. "
    if audit.chosen == "softmax":
        text += "As softmax is kept, after is the same as before; the table of candidates shows what was tried. "
    return text + "Predictions of samples that the head was fitted on are nowhere in this report."


def _tests(audit: Audit) -> str:
    text = (
        "A sign-flip test, one-sided: how likely wins would exceed losses as much by chance. Where samples are "
        "independent and not weighted it is McNemar's exact test; otherwise it counts groups, and weights."
    )
    if isinstance(audit.head, AutoHead):
        text += (
            " It is corrected for the number of candidates. Fewer errors are proven where the p-value is below "
            f"{audit.head.alpha:g}. Without a proof, a head may predict if it is likely to make fewer errors: its "
            "out-of-fold errors drop, and its log loss is significantly lower."
        )
    return text


# ---- notes beside the charts -----------------------------------------------------------------------------------------


def gate_note(gate: float | None) -> str:
    """What the chart of certainty shows, and what the gate means for a head that has one."""
    text = "Certainty is the largest softmax probability of a sample."
    if gate is None:
        return text
    return (
        f"{text} SPH pools the samples whose certainty is below its certainty gate, and leaves the others to softmax. "
        f"Move the gate to see what it would pool. The gate of the head audited here is {gate:g}"
    ) + ("." if gate else ": it pools no sample.")


def reliability_note(audit: Audit) -> str:
    """Whose probabilities are shown."""
    if audit.reliability is not None:
        return (
            "The head's are out-of-fold probabilities of what it predicts; softmax's are those of the model as it is."
        )
    return (
        "Softmax only: this head has no out-of-fold probabilities, and probabilities of samples that it was fitted on "
        "would prove nothing."
    )


def uncertainty_note(certainty: NDArray[np.float64]) -> str:
    """For how many samples the certainty of softmax is below one half."""
    below = int(np.count_nonzero(certainty < 0.5))
    if below == 0:
        return "The certainty of softmax is at least 0.5 for every sample."
    return f"The certainty of softmax is below 0.5 for {below:,} of the {len(certainty):,} samples."
