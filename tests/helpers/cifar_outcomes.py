"""Made outcomes of the experiment on CIFAR, one for every case and method."""

from dataclasses import replace

from experiments.cifar.behaviour import PARTS, Behaviour
from experiments.cifar.cases import ALL, HEADS, ON_SHIFT, SPH, SUBSETS, TEMPERATURES
from experiments.cifar.measure import Outcome
from experiments.networks.cifar_networks import SHIFTED, SHIFTS
from experiments.networks.cifar_recipes import CLASSES, CONVOLUTIONAL, DENSE, NETWORKS, RUNS

ONE = Outcome(
    part="networks",
    data="cifar10",
    network="cifar10-8",
    variant="",
    draw=0,
    classes=10,
    method="softmax",
    looks_at_test_labels=False,
    validation_samples=5_000,
    test_samples=5_000,
    separation=1.0,
    softmax_accuracy=0.6,
    accuracy=0.61,
    gain=0.02,
    wins=60,
    losses=20,
    p_value=0.01,
    chosen="",
    seconds=1.0,
)
GAINS = {"softmax": 0.0, "sph_best_on_test": 0.02, "sph_chosen": 0.0, "auto": 0.03, "auto_features": 0.05, "sms": 0.01}
ACCURACY = {"8": 0.60, "16": 0.52, "32": 0.7, "48": 0.89}


def outcome(method, gain=None, **changes):
    """An outcome of a method with its usual gain, or with that one."""
    return replace(ONE, method=method, gain=GAINS[method] if gain is None else gain, **changes)


def made_outcomes():
    """Something for every figure and table."""
    found = []
    for name, recipe in NETWORKS.items():
        accuracy = ACCURACY[name.split("-")[1]] - (0.2 if recipe.data != "cifar10" else 0)
        common = {"data": recipe.data, "network": name, "classes": CLASSES[recipe.data], "softmax_accuracy": accuracy}
        found += [outcome(method, **common) for method in ALL]
        if recipe.data == "cifar10":
            found += [outcome(m, part="temperature", variant=t, **common) for t in TEMPERATURES for m in SPH]
    for count, draws in SUBSETS.items():
        common = {"part": "classes", "data": "cifar100", "network": "cifar100-48", "variant": str(count)}
        found += [outcome(m, 1 / count, draw=d, classes=count, **common) for d in range(draws) for m in HEADS]
        common["part"] = "classes-200"
        found += [outcome(m, 1 / (1 + d), draw=d, classes=count, **common) for d in range(draws) for m in HEADS]
    for name, recipe in RUNS.items():
        for step, epochs in enumerate(recipe.checkpoints):
            common = {"part": "training", "network": name, "variant": f"{epochs:g}", "separation": 1.0 + step}
            found += [outcome(m, 0.2 - step / 50, softmax_accuracy=0.4 + step / 50, **common) for m in HEADS]
    for name, recipe in (CONVOLUTIONAL | DENSE).items():
        common = {"part": "samples", "network": name, "variant": str(recipe.samples)}
        found += [outcome(m, 50 / recipe.samples if m != "softmax" else 0.0, **common) for m in HEADS]
    for name in SHIFTED:
        for shift in SHIFTS:
            common = {"part": "shift", "data": NETWORKS[name].data, "network": name, "variant": f"{shift} 2"}
            found += [outcome(m, 0.2 if m != "softmax" else 0.0, **common) for m in ON_SHIFT]
    return found


def made_behaviours():
    """A record for each network, whose imbalance is its best-on-test gain."""
    return [
        Behaviour(*o.key, o.softmax_accuracy, bunched=o.softmax_accuracy / 2, order=0.8, imbalance=o.gain)
        for o in made_outcomes()
        if o.part in PARTS and o.method == "sph_best_on_test"
    ]
