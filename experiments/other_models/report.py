"""Tables and text of the experiment on models that are not softmax networks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from aftermax._utils.files import write_text
from aftermax._utils.text import percent, signed, table
from experiments.other_models.figure import draw
from experiments.other_models.measure import Outcome
from experiments.other_models.methods import USE_TEST_LABELS
from experiments.other_models.models import MODELS
from experiments.other_models.results import HEADINGS, TITLES, Case, Results
from experiments.other_models.verdict import tally, verdict
from experiments.plotting import save
from experiments.runs import provenance

TEMPLATE = Path(__file__).with_suffix(".md")


def write(outcomes: Sequence[Outcome], out: Path) -> str:
    """Write table, report and figure to ``out``; return the table and the verdict as text."""
    results = Results(outcomes)
    write_text(out / "table.md", case_table(results))
    write_text(out / "verdict.md", verdict(results))
    write_text(out / "report.md", report(results, provenance.sentence(out)))
    save(draw(results), out / "gain")
    return f"{case_table(results)}\n{verdict(results)}"


def case_table(results: Results) -> str:
    """A line for each model, data set and number of training samples; means over draws."""
    lines = []
    for case in results.cases:
        data, size, model = case
        cells = [TITLES[data], f"{size:,}", MODELS[model].title, percent(results.error(case))]
        lines.append([*cells, *_gains(results, [case])])
    return table(["data", "trained on", "model", "error of argmax", *HEADINGS.values()], lines, texts=3)


def model_table(results: Results) -> str:
    """A line for each model, with few and with many training samples; means over data sets."""
    lines = []
    for name, model in MODELS.items():
        for amount, pick in (("few", min), ("many", max)):
            cases = [case for case in results.cases if case[2] == name and case[1] == pick(_sizes(results, case[0]))]
            lines.append([model.title, amount, *_gains(results, cases)])
    return table(["model", "training samples", *HEADINGS.values()], lines, texts=2)


def _sizes(results: Results, data: str) -> set[int]:
    return {case[1] for case in results.cases if case[0] == data}


def _gains(results: Results, cases: Sequence[Case]) -> list[str]:
    """A cell for each method: the mean gain over cases, and the draws that are significantly better and worse."""
    cells = []
    for method in HEADINGS:
        count = tally(results, method, cases)
        text = signed(count.gain)
        if method not in USE_TEST_LABELS:  # no test is valid on labels that the choice was made by
            text += f" ({count.better} / {count.worse})"
        cells.append(f"**{text}**" if method == "sph_chosen" else text)
    return cells


def report(results: Results, made_by: str) -> str:
    """The report, without the figure."""
    names = [name for name in TITLES if _sizes(results, name)]
    samples = {o.data: (o.validation_samples, o.test_samples) for o in results.outcomes}
    return TEMPLATE.read_text().format(
        quick="" if len(names) > 1 else " --quick",
        models="".join(f"- {model.title}: {model.responses}\n" for model in MODELS.values()),
        data=_listed(
            f"{TITLES[name]} ({' and '.join(f'{size:,}' for size in sorted(_sizes(results, name)))})" for name in names
        ),
        draws=len({outcome.draw for outcome in results.outcomes}),
        validation=_listed(f"{samples[name][0]:,} of {TITLES[name]}" for name in names),
        test=_listed(f"{samples[name][1]:,}" for name in names),
        minutes=f"{sum(outcome.seconds for outcome in results.outcomes) / 60:.0f}",
        made_by=made_by,
        verdict=verdict(results),
        by_model=model_table(results),
        table=case_table(results),
    )


def _listed(texts: Iterable[str]) -> str:
    *first, last = texts
    return f"{', '.join(first)} and {last}" if first else last
