"""Tables and text of the benchmark on methods that see features, and on what features are worth."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from aftermax._utils.text import percent, signed, table
from experiments.benchmark.methods import METHODS
from experiments.benchmark.results import NAMES, CaseKey, Results, mean
from experiments.benchmark.titles import FAMILIES, case_title

NEAR = 0.01  # of softmax's errors: one point


def tables(results: Results) -> dict[str, str]:
    """All of them by the names of their files; what was not measured is said in the first."""
    cases, same = results.with_features(), compared(results)
    if not cases:
        return {"features": "No method with features is among these results.\n"}
    said = [against_auto(results)]
    if not results.feature_peers:
        said.append("No peer on features is among these results.\n")
    elif not same.cases:
        said.append("No case among these results has all methods with features.\n")
    else:
        said.append(against_peers(same, len(cases)))
    found = {"features": "\n".join(part for part in said if part)}
    if results.feature_peers and same.cases:
        found |= {
            "features_methods": method_table(same),
            "features_families": family_table(same),
            "features_cases": case_table(same),
        }
    return found


def compared(results: Results) -> Results:
    """The cases in which AutoHead and every method with features were measured: means over these compare."""
    needed = [name for name in results.methods if METHODS[name].with_features or name == "auto"]
    gains = [results.gains(name) for name in needed]
    return results.only(case for case in results.with_features() if all(case in of_method for of_method in gains))


def full_methods(results: Results) -> list[str]:
    """The methods that were measured in all cases."""
    return [name for name in results.methods if len(results.gains(name)) == len(results.cases)]


# ---- in words --------------------------------------------------------------------------------------------------------


def against_auto(results: Results) -> str:
    """How often features make AutoHead worse; empty if it was not measured with and without."""
    without, with_features = results.gains("auto"), results.gains("auto_features")
    changes = {case: gain - without[case] for case, gain in with_features.items() if case in without}
    if not changes:
        return ""
    worse = sum(change < -NEAR for change in changes.values())
    worst = min(changes, key=lambda case: changes[case])
    return (
        f"Features change AutoHead's gain by {_points(mean(changes.values()))} points in the mean over the "
        f"{len(changes)} cases that have any. AutoHead with features is more than one point worse than without in "
        f"{worse} of them ({percent(worse / len(changes))}); the worst change is {_points(changes[worst])} points "
        f"({_in_full(worst)}).\n"
    )


def against_peers(results: Results, with_features: int) -> str:
    """AutoHead with features against the best single peer on features, and against the best peers of each case."""
    gains, best = results.gains("auto_features"), results.best_peer(results.feature_peers)
    peers, every = results.feature_peers, [*results.peers, *results.feature_peers]
    text = (
        f"Peers on features were measured in {len(results.cases)} of {with_features} cases with features. The best "
        f"single one, {NAMES[best]}, gains {signed(mean(results.gains(best).values()))} in the mean over these."
    )
    if gains:
        near, nearest = (near_the_best(results, "auto_features", group) for group in (peers, every))
        text += (
            f" AutoHead with features gains {signed(mean(gains.values()))}. It is ahead of, or within one point of, "
            f"the best peer on features *of each case* in {near} cases ({percent(near / len(gains))}), and the best "
            f"peer of all, on logits or on features, in {nearest} ({percent(nearest / len(gains))})."
        )
    return text + "\n"


def near_the_best(results: Results, method: str, peers: Sequence[str]) -> int:
    """In how many cases a method is at most one point behind the best of these peers."""
    return sum(gain >= results.best_in(case, peers) - NEAR for case, gain in results.gains(method).items())


def _points(change: float) -> str:
    return f"{100 * change:+.1f}"


def _in_full(case: CaseKey) -> str:
    return f"{case_title(case)}; {case[2]:,} samples"


# ---- the tables ------------------------------------------------------------------------------------------------------


def method_table(results: Results) -> str:
    """A line for each method that was measured in all of these cases, and for the best peers of each case."""
    heads = ["method", "sees", "mean gain", "worst case", "significantly worse", "seconds to fit (median)"]
    lines = []
    for name in full_methods(results):
        gains, group = results.gains(name), results.of(name)
        worst = min(gains, key=lambda case: gains[case])
        lines.append(
            [
                NAMES[name],
                sees(name),
                signed(mean(gains.values())),
                f"{signed(gains[worst])} ({_in_full(worst)})" if name != "softmax" else "",
                percent(mean(outcome.significantly_worse for outcome in group)),
                f"{np.median([outcome.fit_seconds for outcome in group]):.2g}" if name != "softmax" else "",
            ]
        )
    for seen, peers in (("logits", results.peers), ("features", results.feature_peers)):
        best = mean(results.best_in(case, peers) for case in results.cases)
        lines.append([f"*best peer on {seen} of each case*", "", _gain(best), "", "", ""])
    return table(heads, lines, texts=2)


def sees(method: str) -> str:
    asked = METHODS[method]
    if not asked.with_features:
        return "logits"
    return "both" if asked.with_logits else "features"


def family_table(results: Results) -> str:
    """Mean gains, a line for each family of cases and a column for each method that saw features, and for AutoHead."""
    shown = _shown(results)
    lines = []
    for family, title in FAMILIES.items():
        group = results.only(case for case in results.cases if case[0] == family)
        if group.cases:
            gains = [signed(mean(group.gains(name).values())) for name in shown]
            best = mean(group.best_in(case) for case in group.cases)
            lines.append([title, str(len(group.cases)), *gains, _gain(best)])
    return table(
        ["family", "cases", *(NAMES[name] for name in shown), "best peer on logits of each case"], lines, texts=1
    )


def case_table(results: Results) -> str:
    """A line for each case, a column for each method that saw features, and for AutoHead without."""
    shown = _shown(results)
    columns = [results.gains(name) for name in shown]
    lines = []
    for case in results.cases:
        errors = mean(outcome.softmax_error for outcome in results.outcomes if outcome.case == case)
        gains = [signed(of_method[case]) for of_method in columns]
        lines.append([case_title(case), f"{case[2]:,}", percent(errors), *gains, _gain(results.best_in(case))])
    names = [NAMES[name] for name in shown]
    return table(["case", "samples", "softmax error", *names, "best peer on logits of each case"], lines, texts=1)


def _shown(results: Results) -> list[str]:
    return [name for name in results.methods if name == "auto" or METHODS[name].with_features]


def _gain(value: float) -> str:
    return "-" if np.isnan(value) else signed(value)
