"""Outcomes of the experiments, and samples for their trials."""

from experiments.benchmark.measure import Outcome
from experiments.benchmark.trials import Samples
from experiments.paper.claims import claims, wastes_of
from experiments.paper.results import Outcome as VmnistOutcome
from experiments.paper.results import Results as VmnistResults
from helpers.samples import make_samples


def trial_samples(features=False, n_classes=3):
    """150 validation and 200 test samples, with two features if asked for."""
    parts = (
        make_samples(seed=1, n_samples=150, n_classes=n_classes),
        make_samples(seed=2, n_samples=200, n_classes=n_classes),
    )
    return tuple(Samples(logits, labels, logits[:, :2] if features else None) for logits, labels in parts)


OUTCOME = Outcome(
    family="vmnist",
    name="100",
    network=0,
    rows=4000,
    classes=10,
    method="softmax",
    softmax_error=0.25,
    gain=0.0,
    wins=0,
    losses=0,
    p_value=1.0,
    fit_seconds=0.0,
    predict_seconds=0.001,
    log_loss=0.9,
    softmax_log_loss=0.8,
    expected_gain=0.0,
    expected_low=0.0,
    expected_high=0.0,
    chosen="",
)


def vmnist_outcome(size, number, method, gain, accuracy=0.9):
    wins = round(400 * max(gain, 0))
    after = accuracy + (1 - accuracy) * gain
    return VmnistOutcome(
        size, number, 0, method, method == "sph_best_on_test", accuracy, accuracy, after, gain, wins, 0, 1.0, "{}", 1.0
    )


def vmnist_results(ceiling, honest, auto=(0.5, 0.3, 0.0)):
    """Results as in the paper, except for the gains of SPH and of AutoHead."""
    gains = {"softmax": 0, "inserted_linear": -0.1, "inserted_relu": -0.1, "bayes_on_training": -0.1, "retrained": 0.5}
    sizes = {100: 0.71, 1_000: 0.9, 50_000: 0.98}
    outcomes = []
    for index, (size, accuracy) in enumerate(sizes.items()):
        here = gains | {"bayes_on_validation": (0.1, -0.1, -0.1)[index]}
        here |= {"sph_best_on_test": ceiling[index], "sph_chosen": honest[index], "auto_head": auto[index]}
        outcomes += [vmnist_outcome(size, n, method, gain, accuracy) for n in range(2) for method, gain in here.items()]
    return VmnistResults(outcomes)


def claims_by_name(results):
    return {claim.claim: claim for claim in claims(results, wastes_of(results))}


def table_cells(path):
    """The cells of every line of the tables in a Markdown file."""
    lines = [line for line in path.read_text().splitlines() if line.startswith("|") and not line.startswith("|--")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
