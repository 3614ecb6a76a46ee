"""Results of audits to test on, and a search that is quick to audit."""

import numpy as np

from aftermax import Audit, SPHClassifierCV
from aftermax._audit.counts import ClassCounts, PairCounts
from aftermax._utils.comparison import Comparison
from aftermax._utils.paired_tests import samples_range
from aftermax.auto.candidates import Candidate, Candidates

SMALL = {"certainty": [0.5, 0.7, 0.9, 1.0], "distance_power": [1.0, 2.0]}


def small_search(**hyperparameters):
    return SPHClassifierCV(SMALL, cv=3, n_repeats=1, **hyperparameters)


def comparison_of(wins, losses, errors, rows):
    """Samples that are wins, losses, wrong in both, and right in both."""
    kinds = np.repeat([0, 1, 2, 3], [wins, losses, errors - wins, rows - errors - losses])
    return Comparison.of(np.isin(kinds, [1, 3]), np.isin(kinds, [0, 3]))


def made_up_candidates(rows=1000, errors=200, chosen="softmax", **counts):
    """A table of candidates with these wins and losses, beside softmax."""
    table = []
    for name, (wins, losses) in {"softmax": (0, 0), **counts}.items():
        found = comparison_of(wins, losses, errors, rows)
        table.append(
            Candidate(
                name=name,
                tier=name,
                trust=1.0,
                error=(errors - wins + losses) / rows,
                gain=found.gain,
                gain_interval=found.intervals()[0],
                wins=wins,
                losses=losses,
                p_value=found.p_value,
                log_loss=0.5,
                log_loss_p_value=0.5,
            )
        )
    return Candidates(table, chosen)


def made_up_audit(wins, losses, errors, *, rows=1000, chosen="combination", **more):
    """An audit with these counts, of a head that was not selected for its gain."""
    found = comparison_of(wins, losses, errors, rows)
    interval, prediction_interval = found.intervals()
    by_class = (ClassCounts(0, rows - 10, errors, wins, losses), ClassCounts(1, 10, 0, 0, 0))
    fields = {
        "rows": rows,
        "classes": (0, 1),
        "groups": None,
        "error_before": errors / rows,
        "error_after": (errors - wins + losses) / rows,
        "gain": found.gain,
        "gain_interval": interval,
        "gain_prediction_interval": prediction_interval,
        "wins": wins,
        "losses": losses,
        "p_value": found.p_value,
        "proven": None,
        "chosen": chosen,
        "trust": None,
        "class_shares": (1 - 10 / rows, 10 / rows),
        "by_class": by_class,
        "pairs": (PairCounts(0, 1, errors, errors - wins + losses),) if wins > losses else (),
        "rows_needed": samples_range(wins - losses, wins + losses, rows),
        "tangled": (),
        "weighted": False,
        "warnings": (),
        "candidates": None,
        "head": None,
    }
    return Audit(**fields | more)
