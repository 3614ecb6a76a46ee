"""What the cases of the benchmark are called in its tables and figures."""

from __future__ import annotations

from experiments.benchmark.results import CaseKey

FAMILIES = {
    "vmnist": "vMNIST",
    "letters": "letters (UCI; 26 classes)",
    "text": "texts (BANKING77; 77 classes)",
    "files": "score files",
    "shift-mnist": "MNIST, shifted",
    "shift-cifar10": "CIFAR-10, shifted",
}
CASES = {
    "vmnist": "vMNIST, trained on {}",
    "letters": "letters, trained on {}",
    "text": "texts, {}",
    "shift-mnist": "MNIST, {}",
    "shift-cifar10": "CIFAR-10, {}",
}


def case_title(case: CaseKey) -> str:
    family, name, _ = case
    return CASES.get(family, "{}").format(f"{int(name):,}" if name.isdigit() else name)
