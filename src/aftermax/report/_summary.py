"""The first part of the page: warnings, key figures and the table of all figures."""

from __future__ import annotations

from collections.abc import Sequence

from aftermax._audit.result import Audit
from aftermax._audit.verdict import samples_to_be_sure
from aftermax._utils.text import fewer, fewer_between, p_value, percent
from aftermax.decide.outcome import number
from aftermax.report._glossary import PREDICTED_BY
from aftermax.report._text import escaped, unbroken

LONGEST_UNBROKEN = 25  # letters of a value that stay on one line


def warning_list(audit: Audit) -> str:
    """The warnings of the audit, or nothing."""
    items = "\n".join(f"<li>{escaped(text)}</li>" for text in audit.warnings)
    return f'<div class="warnings" role="note">\n<p>Warnings</p>\n<ul>\n{items}\n</ul>\n</div>' if items else ""


def key_figures(audit: Audit) -> str:
    """The four numbers to look at first."""
    before, after = audit.errors
    interval = f"95 % interval: {fewer_between(*audit.gain_interval)}"
    gain = (fewer(audit.gain), interval) if before else ("no errors", "softmax makes no errors")
    if before and audit.chosen == "softmax":
        gain = ("none", "softmax is kept")
    error = "Weighted error" if audit.weighted else "Error"
    tiles = [
        *_outcome_tiles(audit),
        *_abstention_tile(audit),
        (f"{error} of softmax", percent(audit.error_before), f"{before:,} of {audit.rows:,} samples"),
        (f"{error} of the head", percent(audit.error_after), f"{after:,} of {audit.rows:,} samples"),
        ("Change in errors to expect", *gain),
        ("Wins and losses", f"{audit.wins:,} : {audit.losses:,}", f"test of fewer errors: p {p_value(audit.p_value)}"),
    ]
    return "\n".join(
        f'<div class="tile"><dt>{name}</dt><dd class="number">{figure}</dd><dd>{detail}</dd></div>'
        for name, figure, detail in ([unbroken(escaped(text)) for text in tile] for tile in tiles)
    )


def summary_tables(audit: Audit) -> str:
    """Every figure of the audit, one in a line."""
    return "\n".join(_two_columns(caption, lines) for caption, lines in all_figures(audit).items())


def all_figures(audit: Audit) -> dict[str, list[tuple[str, str]]]:
    """Every figure of the audit with its name, as text, by what it is about."""
    before, after = audit.errors
    weighted = "weighted " if audit.weighted else ""
    errors = [
        ("Samples", f"{audit.rows:,}"),
        *([] if audit.groups is None else [("Groups: samples that belong together", f"{audit.groups:,}")]),
        ("Classes", f"{len(audit.classes):,}"),
        ("Errors before (softmax)", f"{before:,} ({weighted}{percent(audit.error_before)})"),
        ("Errors after (the head, out-of-fold)", f"{after:,} ({weighted}{percent(audit.error_after)})"),
        ("Gain to expect: change in errors, relative to softmax's", fewer(audit.gain) if before else "no errors"),
    ]
    if before:
        errors.append(("95 % interval of the true gain", fewer_between(*audit.gain_interval)))
        errors.append(("Range of the gain on as many new samples", fewer_between(*audit.gain_prediction_interval)))
    trusted = "" if audit.trust in (None, 0.0, 1.0) else f" ({audit.trust:.0%} of it)"
    evidence = [
        ("Wins: samples that only the head predicts correctly", f"{audit.wins:,}"),
        ("Losses: samples that only softmax predicts correctly", f"{audit.losses:,}"),
        ("p-value of the claim that errors are fewer, one-sided", p_value_alone(audit.p_value)),
        *([] if audit.outcome else [("Labelled samples needed to prove a gain", samples_to_be_sure(audit))]),
        ("The head predicts by", _predicted_by(audit) + trusted),
    ]
    asked = [] if audit.outcome is None else [(name, value) for name, value in audit.outcome.lines]
    return {**({"Asked for": asked} if asked else {}), "Errors": errors, "Evidence": evidence}


def _outcome_tiles(audit: Audit) -> list[tuple[str, str, str]]:
    """What was asked for, if that is not accuracy: before and after."""
    outcome = audit.outcome
    if outcome is None:
        return []
    low, high = map(number, outcome.improvement_interval)
    name = outcome.objective[:1].upper() + outcome.objective[1:]
    better = "saved" if outcome.is_cost else "gained"
    return [
        (f"{name} of softmax", number(outcome.softmax), "a sample" if outcome.is_cost else "before"),
        (f"{name} of the decisions", number(outcome.decided), f"{better}, 95 % interval: {low} to {high}"),
    ]


def _abstention_tile(audit: Audit) -> list[tuple[str, str, str]]:
    """What the head decides alone, if that is not everything."""
    promised = audit.abstention
    if promised is None:
        return []
    wrong, sure = (f"{100 * share:.6g} %" for share in (promised.max_error, promised.confidence))
    return [("Decided alone", percent(promised.share), f"at most {wrong} of these wrong (confidence {sure})")]


def _predicted_by(audit: Audit) -> str:
    passed = audit.chosen if audit.outcome is not None else f"{audit.chosen}: the head that was passed"
    return PREDICTED_BY.get(audit.chosen, passed)


def p_value_alone(value: float) -> str:
    """A p-value for a cell of its own."""
    return p_value(value).removeprefix("= ")


def _two_columns(caption: str, lines: Sequence[tuple[str, str]]) -> str:
    body = "\n".join(
        f'<tr><th scope="row">{unbroken(escaped(name))}</th><td{_css_class(value)}>{unbroken(escaped(value))}</td></tr>'
        for name, value in lines
    )
    return (
        f'<div class="scroll"><table class="figures"><caption>{caption}</caption>\n'
        f"<tbody>\n{body}\n</tbody></table></div>"
    )


def _css_class(value: str) -> str:
    return ' class="long"' if len(value) > LONGEST_UNBROKEN else ""
