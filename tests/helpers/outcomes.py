"""outcomes."""

from experiments.benchmark.measure import Outcome
from experiments.benchmark.trials import Rows
from helpers.samples import make_samples


def made_rows(features=False, size=3):
    parts = make_samples(seed=1, rows=150, size=size), make_samples(seed=2, rows=200, size=size)
    return tuple(Rows(logits, labels, logits[:, :2] if features else None) for logits, labels in parts)


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
