"""Results of audits to test on, and a search that is quick to audit."""

import numpy as np

from aftermax import Audit, SPHClassifierCV
from aftermax._audit.counts import ClassCounts, PairCounts
from aftermax._utils.paired_tests import exact_mcnemar, gain_interval, relative_gain, samples_to_prove

SMALL = {"certainty": [0.5, 0.7, 0.9, 1.0], "distance_power": [1.0, 2.0]}


def small_search(**hyperparameters):
    return SPHClassifierCV(SMALL, cv=3, n_repeats=1, **hyperparameters)


def made_up_audit(wins, losses, errors, *, rows=1000, chosen="combination", head_p_value=None, weighted=False, **more):
    """An audit with these counts."""
    interval = gain_interval(wins, losses, errors, rows, np.random.default_rng(0))
    by_class = (ClassCounts(0, rows - 10, errors, wins, losses), ClassCounts(1, 10, 0, 0, 0))
    fields = {
        "rows": rows,
        "classes": (0, 1),
        "error_before": errors / rows,
        "error_after": (errors - wins + losses) / rows,
        "gain": relative_gain(wins, losses, errors),
        "gain_interval": interval,
        "wins": wins,
        "losses": losses,
        "p_value": exact_mcnemar(wins, losses),
        "head_p_value": head_p_value,
        "chosen": chosen,
        "by_class": by_class,
        "pairs": (PairCounts(0, 1, errors, errors - wins + losses),) if wins > losses else (),
        "rows_needed": samples_to_prove(wins, losses, rows),
        "tangled": (),
        "weighted": weighted,
        "warnings": (),
        "candidates": None,
        "head": None,
    }
    return Audit(**fields | more)
