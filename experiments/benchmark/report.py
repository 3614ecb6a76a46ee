"""Tables, text and figure of the benchmark."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from aftermax._utils.files import write_text
from aftermax._utils.text import percent, signed, table
from experiments.benchmark import features_report, figure
from experiments.benchmark.measure import Outcome
from experiments.benchmark.results import NAMES, Results, mean
from experiments.benchmark.titles import FAMILIES, case_title
from experiments.plotting import save
from experiments.runs import provenance

INTRODUCTION = """# The money table

Relative reduction of softmax's test error, in the mean over networks. Every method was fitted on the same labelled
samples, chose its hyperparameters by cross-validation on them (probmetrics' sms has none to choose), and predicted the
same test samples. Methods that see features, which are in a table of their own, see the last hidden layer of a network
(of texts, their embeddings), and some of them the logits as well; all others see the logits only. SPH
(SPHClassifierCV) is left out where there are more than 20 classes, as its time grows with their square. Times are on
one core, while another trial runs on the other. Written by `python -m experiments money`; a line for each trial and
method is in outcomes.csv, here and in the folder of the shift experiment.
"""


def write(outcomes: Sequence[Outcome], out: Path) -> str:
    """Write tables, report and figure to ``out``; return the tables as text."""
    results = Results(outcomes)
    tables = {"cases": case_table(results), "methods": method_table(results)}
    if results.peers and "auto" in results.methods:
        tables["peers"] = against_peers(results)
    featured = features_report.tables(results)
    for name, text in (tables | featured).items():
        write_text(out / f"{name}.md", text)
    report = [INTRODUCTION, provenance.sentence(out), not_measured(results), *tables.values()]
    report += ["![gain by case](gain.png)\n", "## With features\n", *featured.values()]
    save(figure.draw(results, results.peers, figure.ON_LOGITS), out / "gain")
    compared = features_report.compared(results)
    if compared.feature_peers:
        report.append("![gain by case, with features](gain_features.png)\n")
        drawn = figure.draw(compared, compared.feature_peers, figure.WITH_FEATURES)
        save(drawn, out / "gain_features")
    write_text(out / "report.md", "\n".join(part for part in report if part))
    return "\n".join([*tables.values(), *featured.values()])


def not_measured(results: Results) -> str:
    """Which families of cases are not among the outcomes; empty if all are."""
    missing = [title for family, title in FAMILIES.items() if all(case[0] != family for case in results.cases)]
    return f"Not among these results: {'; '.join(missing)}.\n" if missing else ""


# ---- the tables ------------------------------------------------------------------------------------------------------


def case_table(results: Results) -> str:
    """A line for each case; a column for each method, except for the peers on features."""
    shown = [name for name in results.methods if name not in ("softmax", *results.feature_peers)]
    columns = {name: results.gains(name) for name in shown}
    lines = []
    for case in results.cases:
        of_case = [outcome for outcome in results.outcomes if outcome.case == case]
        cells = [case_title(case), f"{case[2]:,}", percent(mean(outcome.softmax_error for outcome in of_case))]
        for name, gains in columns.items():
            cell = signed(gains[case]) if case in gains else "-"
            cells.append(f"**{cell}**" if name == "auto" else cell)
        lines.append(cells)
    return table(["case", "samples", "softmax error", *(NAMES[name] for name in shown)], lines, texts=1)


def method_table(results: Results) -> str:
    """A line for each method: its gains over all cases, how often it is worse, and its times."""
    heads = [
        "method",
        "cases",
        "mean gain",
        "worst case",
        "significantly better (McNemar, p < 0.05)",
        "significantly worse",
        "fit time, SVC's search = 1",
        "predict time, softmax = 1",
        "log loss minus that of softmax with a temperature",
    ]
    lines = []
    for name in results.methods:
        gains, group = results.gains(name), results.of(name)
        worst = min(gains, key=lambda case: gains[case])
        fit = results.ratios(name, "svc", lambda o: o.fit_seconds)
        predict = results.ratios(name, "softmax", lambda o: o.predict_seconds)
        lines.append(
            [
                NAMES[name],
                str(len(gains)),
                signed(mean(gains.values())),
                f"{signed(gains[worst])} ({case_title(worst)}; {worst[2]:,} samples)" if name != "softmax" else "",
                percent(mean(outcome.significantly_better for outcome in group)),
                percent(mean(outcome.significantly_worse for outcome in group)),
                times(fit) if name != "softmax" else "",
                times(predict),
                f"{excess:+.3f}" if np.isfinite(excess := excess_log_loss(group)) else "-",
            ]
        )
    return table(heads, lines, texts=1)


def times(ratios: Sequence[float]) -> str:
    """The median."""
    if not len(ratios):
        return "-"
    median = np.median(ratios)
    return f"{median:,.0f} x" if median >= 10 else f"{median:.2g} x"


def excess_log_loss(group: Iterable[Outcome]) -> float:
    return mean(outcome.log_loss - outcome.softmax_log_loss for outcome in group)


def against_peers(results: Results) -> str:
    """AutoHead against the best single peer, and against the best peer of each case."""
    best, ours = results.best_peer(), results.gains("auto")
    mean_ours, mean_best = mean(ours.values()), mean(results.gains(best).values())
    near = near_the_best(results)
    share = percent(near / len(ours))
    return (
        f"AutoHead gains {signed(mean_ours)} in the mean over all {len(ours)} cases; the best single peer, "
        f"{NAMES[best]}, {signed(mean_best)}: {100 * (mean_ours - mean_best):+.1f} points. AutoHead is ahead of, or "
        f"within one point of, the best peer *of each case* in {near} of {len(ours)} cases ({share}). "
        "That best peer differs from case to case, and nobody knows it beforehand.\n"
    )


def near_the_best(results: Results) -> int:
    """In how many cases AutoHead is at most one point behind the best peer of the case."""
    return sum(gain >= results.best_in(case) - 0.01 for case, gain in results.gains("auto").items())
