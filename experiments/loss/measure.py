"""Is a loss that uses D better than softmax's? ``python -m experiments loss``.

The paper's third avenue: train with a loss that uses the distributions of all responses. Networks on flattened MNIST
are trained with five losses, on the same samples and from the same weights. Each predicts by its own rule, by that rule
with D estimated again on the validation samples, and with AutoHead fitted on the validation samples.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from aftermax._utils.paired_tests import exact_mcnemar, relative_gain, wins_and_losses
from aftermax._utils.text import percent
from experiments.data.mnist import MNIST
from experiments.networks.mnist_networks import (
    NETWORKS,
    QUICK_NETWORKS,
    QUICK_SIZES,
    Case,
    Draws,
    draw_samples,
    seed_of,
)
from experiments.networks.recipes import MAIN, RECIPES
from experiments.runs.provenance import network_settings
from experiments.runs.runner import Experiment

if TYPE_CHECKING:
    from experiments.loss.training import Model

SIZES = (100, 200, 500, 1_000, 2_000, 5_000)
LOSS_NAMES = ("softmax", "sph", "sph_softmax", "gaussian", "gaussian_softmax")
# AutoHead takes longer to fit than the networks to train: on so many networks of each size.
AUTO_NETWORKS = {"softmax": NETWORKS, "gaussian_softmax": 2, "gaussian": 1, "sph_softmax": 1, "sph": 1}
BASELINE = ("softmax", "argmax")


@dataclass(frozen=True)
class Outcome:
    """A loss and a predictor, on one network's test samples. The gain is over softmax's loss with argmax."""

    trained_on: int
    network: int
    seed: int
    loss: str
    predictor: str
    epochs: int  # chosen by the error on the validation samples
    validation_error: float  # of the network's own rule
    error: float
    gain: float
    wins: int
    losses: int
    p_value: float
    seconds: float  # of the training and, for AutoHead, of fitting it

    @property
    def key(self) -> Case:
        return Case(self.trained_on, self.network)

    @property
    def pair(self) -> tuple[str, str]:
        return self.loss, self.predictor


def cases(quick: bool = False, networks: int = NETWORKS) -> list[Case]:
    """The networks. The first of every size comes first, so that a run that is cut short has all sizes."""
    sizes, networks = (QUICK_SIZES, QUICK_NETWORKS) if quick else (SIZES, networks)
    return [Case(size, number) for number in range(networks) for size in sizes]


class Chosen(NamedTuple):
    """A trained network with the number of epochs that has the least error on the validation samples."""

    model: Model
    epochs: int
    validation_error: float


@dataclass(frozen=True)
class LossExperiment(Experiment[Case, Outcome]):
    """Every loss with every predictor."""

    name = "loss"
    record = Outcome
    seeds = "each network's seed is in outcomes.csv; it is the same for every loss"
    code = ("data/mnist.py", "networks", "loss/rules.py", "loss/training.py", "loss/predictors.py", "loss/measure.py")

    mnist: MNIST
    losses: Sequence[str] = LOSS_NAMES
    auto: bool = True

    def settings(self) -> dict[str, Any]:
        from experiments.loss import rules, training

        more: dict[str, Any] = {"losses": list(self.losses), "auto_networks": AUTO_NETWORKS if self.auto else {}}
        more |= {"epochs": training.EPOCHS, "max_steps": training.MAX_STEPS}
        more |= {"decay": rules.DECAY, "prior": rules.PRIOR, "ridge": rules.RIDGE}
        return network_settings(MAIN, ()) | more

    def effort(self, task: Case) -> int:
        """AutoHead's part does not depend on the size."""
        return 3_000 + task.size

    def measure(self, task: Case, methods: Sequence[str]) -> list[Outcome]:
        """Train with every loss, and let every predictor predict the test samples."""
        from experiments.loss.predictors import predictions

        draws = draw_samples(self.mnist, *task)
        truth = self.mnist.test_labels[draws.test]
        before: NDArray[np.bool_] | None = None
        outcomes = []
        for name in self.losses:
            begun = perf_counter()
            chosen = train_and_choose(self.mnist, task, name, draws)
            trained = perf_counter() - begun
            with_auto = self.auto and task.number < AUTO_NETWORKS[name]
            for predictor, predicted, seconds in predictions(self.mnist, draws, name, chosen.model, with_auto):
                after = predicted == truth
                before = after if before is None else before  # the first is the baseline
                outcomes.append(outcome_of(task, name, predictor, chosen, before, after, trained + seconds))
        return outcomes

    def describe(self, records: Sequence[Outcome]) -> str:
        errors = ", ".join(f"{o.loss} {o.predictor} {percent(o.error)}" for o in records)
        return f"trained on {records[0].trained_on:,}, network {records[0].network}: errors {errors}"


def train_and_choose(mnist: MNIST, case: Case, name: str, draws: Draws) -> Chosen:
    """Train with this loss, and keep the network as it was after the best number of epochs."""
    from experiments.loss import training
    from experiments.loss.predictors import own_scores, responses_of

    recipe, loss = RECIPES[MAIN], training.LOSSES[name]
    images, labels = mnist.train_images[draws.train], mnist.train_labels[draws.train]
    model = training.new_model(loss, recipe, images.shape[1], 10, seed_of(*case))
    best: Chosen | None = None
    for epochs in training.train(model, loss, images, labels, recipe, training.epochs_to_try(case.size, recipe.batch)):
        responses = responses_of(model, mnist.test_images[draws.validation])
        predicted = own_scores(model, responses).argmax(axis=1)
        error = float(np.mean(predicted != mnist.test_labels[draws.validation]))
        if best is None or error < best.validation_error:
            best = Chosen(copy.deepcopy(model), epochs, error)
    if best is None:
        raise ValueError(f"The loss {name} was not trained: there is no number of epochs to try.")
    return best


def outcome_of(
    case: Case,
    loss: str,
    predictor: str,
    chosen: Chosen,
    before: NDArray[np.bool_],
    after: NDArray[np.bool_],
    seconds: float,
) -> Outcome:
    """Which test samples are right, compared with softmax's loss and argmax."""
    wins, losses, errors = wins_and_losses(before, after)
    return Outcome(
        trained_on=case.size,
        network=case.number,
        seed=seed_of(*case),
        loss=loss,
        predictor=predictor,
        epochs=chosen.epochs,
        validation_error=chosen.validation_error,
        error=float(np.mean(~after)),
        gain=relative_gain(wins, losses, errors),
        wins=wins,
        losses=losses,
        p_value=exact_mcnemar(wins, losses),
        seconds=round(seconds, 2),
    )
