"""The table of the experiment on prompts, and what it says in words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from aftermax._utils.files import write_text
from aftermax._utils.text import percent, table
from experiments.prompts.embeddings import PROMPTS
from experiments.prompts.measure import ZERO_SHOT, Outcome
from experiments.prompts.ways import BASE, WAYS
from experiments.runs import provenance

TEMPLATE = Path(__file__).with_suffix(".md")
LEVEL = 0.05
SCALES = (BASE, "scale_1", "scale_100")
WORDINGS = ("one_prompt", "mean_embedding", "mean_score", "largest_score")

Case = tuple[int, bool]  # labels; with embeddings or not


def write(outcomes: Sequence[Outcome], out: Path) -> str:
    """Write table, verdict and report to ``out``; return the table and the verdict as text."""
    write_text(out / "table.md", error_table(outcomes))
    write_text(out / "verdict.md", verdict(outcomes))
    write_text(out / "report.md", report(outcomes, provenance.sentence(out)))
    return f"{error_table(outcomes)}\n{verdict(outcomes)}"


def report(outcomes: Sequence[Outcome], made_by: str) -> str:
    """The report, from its template."""
    return TEMPLATE.read_text().format(
        made_by=made_by,
        draws=len({one.draw for one in outcomes}),
        prompts=", ".join(f'"{prompt}"' for prompt in PROMPTS),
        one_prompt=PROMPTS[1],
        table=error_table(outcomes),
        verdict=verdict(outcomes),
    )


# ---- the table -------------------------------------------------------------------------------------------------------


def cases_of(outcomes: Sequence[Outcome]) -> list[Case]:
    """The heads that were measured: each with its number of labels, without and with embeddings."""
    heads = {(one.labels, one.embeddings) for one in outcomes if one.labels}
    return sorted(heads, key=lambda head: head[::-1])


def of(outcomes: Sequence[Outcome], way: str, case: Case) -> list[Outcome]:
    """One outcome for each draw, in their order."""
    found = [one for one in outcomes if (one.way, one.labels, one.embeddings) == (way, *case)]
    return sorted(found, key=lambda one: one.draw)


def mean_error(outcomes: Sequence[Outcome], way: str, case: Case) -> float:
    return float(np.mean([one.error for one in of(outcomes, way, case)]))


def error_table(outcomes: Sequence[Outcome]) -> str:
    """A line for each way: zero-shot error and log loss, then the mean error of each head over draws."""
    zero_shot, cases = ZERO_SHOT[1:], cases_of(outcomes)
    lines = []
    for name, way in WAYS.items():
        [zero] = of(outcomes, name, zero_shot)
        errors = [f"{percent(mean_error(outcomes, name, case))}{mark(outcomes, name, case)}" for case in cases]
        lines.append(
            [way.title, f"{percent(zero.error)}{mark(outcomes, name, zero_shot)}", f"{zero.log_loss:.2f}", *errors]
        )
    heads = [f"AutoHead{', embeddings' if embeddings else ''}, {labels:,} labels" for labels, embeddings in cases]
    return table(["logits from", "zero-shot error", "its log loss", *heads], lines, texts=1)


def mark(outcomes: Sequence[Outcome], way: str, case: Case) -> str:
    """Whether a way is significantly better or worse than the class names, in every draw by itself."""
    found = of(outcomes, way, case)
    if any(one.p_value >= LEVEL for one in found):
        return ""
    signs = {one.wins > one.losses for one in found}
    return "" if len(signs) > 1 else "\\*" if signs.pop() else "†"


# ---- in words --------------------------------------------------------------------------------------------------------


def verdict(outcomes: Sequence[Outcome]) -> str:
    """What was found, one a line, from the numbers."""
    lines = [
        _wordings_line(outcomes),
        *(_head_line(outcomes, case) for case in cases_of(outcomes)),
        _scale_line(outcomes),
        _length_line(outcomes),
        _warnings_line(outcomes),
    ]
    return "\n".join(lines) + "\n"


def _wordings_line(outcomes: Sequence[Outcome]) -> str:
    errors = {name: mean_error(outcomes, name, ZERO_SHOT[1:]) for name in (BASE, *WORDINGS)}
    best = min(errors, key=errors.__getitem__)
    return (
        f"- **Zero-shot**: the error is {percent(errors[BASE])} with the class names, and least with "
        f"{WAYS[best].title} ({percent(errors[best])})."
    )


def _head_line(outcomes: Sequence[Outcome], case: Case) -> str:
    labels, embeddings = case
    errors = {name: mean_error(outcomes, name, case) for name in (BASE, *WORDINGS)}
    best = min(errors, key=errors.__getitem__)
    seen = "scores and embeddings" if embeddings else "scores"
    return (
        f"- **AutoHead on {seen}, {labels:,} labels**: {percent(errors[BASE])} with the class names, "
        f"{percent(min(errors.values()))} to {percent(max(errors.values()))} with any wording, least with "
        f"{WAYS[best].title}."
    )


def _scale_line(outcomes: Sequence[Outcome]) -> str:
    """The errors with every scale, beside what other folds alone change."""
    cases = cases_of(outcomes)
    means = [np.mean([mean_error(outcomes, name, case) for case in cases]) for name in (*SCALES, "other_folds")]
    scales, folds = (
        100 * max(_largest_difference(outcomes, names, case) for case in cases)
        for names in (SCALES, (BASE, "other_folds"))
    )
    losses = [of(outcomes, name, ZERO_SHOT[1:])[0].log_loss for name in SCALES]
    after = [np.mean([one.log_loss for one in outcomes if one.way == name and one.labels]) for name in SCALES]
    return (
        f"- **Scales** of 20, 1 and 100: the mean error of AutoHead is {_numbers(100 * mean for mean in means[:3])} %; "
        f"with 20 and other folds (`random_state=1`), it is {100 * means[3]:.2f} %. In a single draw, scales differ by "
        f"at most {scales:.1f} points, and folds by at most {folds:.1f}. The log loss of softmax without labels is "
        f"{_numbers(losses)}; that of AutoHead, {_numbers(after)} in the mean."
    )


def _largest_difference(outcomes: Sequence[Outcome], names: Sequence[str], case: Case) -> float:
    errors = np.array([[one.error for one in of(outcomes, name, case)] for name in names])
    return float(np.ptp(errors, axis=0).max())


def _numbers(values: Iterable[float | np.floating]) -> str:
    *some, last = (f"{value:.2f}" for value in values)
    return f"{', '.join(some)} and {last}"


def _length_line(outcomes: Sequence[Outcome]) -> str:
    cases = [ZERO_SHOT[1:], *cases_of(outcomes)]
    pairs = [(mean_error(outcomes, "full_length", case), mean_error(outcomes, BASE, case)) for case in cases]
    differences = ", ".join(f"{100 * (longer - unit):+.1f}" for longer, unit in pairs)
    return f"- **Without normalising**, the errors change by {differences} points, in the order of the table's columns."


def _warnings_line(outcomes: Sequence[Outcome]) -> str:
    fits = [one for one in outcomes if one.labels]
    said: dict[str, int] = {}
    for one in fits:
        if one.warned:
            said[one.warned] = said.get(one.warned, 0) + 1
    listed = "; ".join(f'"{text}" ({count})' for text, count in said.items())
    kept = sum(one.chosen == "softmax" for one in fits)
    return f"- AutoHead warned of {listed or 'nothing'} in {len(fits)} fits, and kept softmax in {kept}."
