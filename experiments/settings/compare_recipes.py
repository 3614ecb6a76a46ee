"""How much the gain of SPH depends on how the networks were trained, and on how many hyperparameters were tried.

The paper does not give its recipe, so several were tried. The table has them all, not only the one that was kept.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from aftermax import default_grid
from aftermax._utils.files import write_text
from aftermax._utils.text import percent, signed, table
from aftermax.sph.grid import grid_blocks, grid_columns
from experiments.data.mnist import MNIST
from experiments.networks.mnist_networks import cases
from experiments.networks.recipes import MAIN, RECIPES
from experiments.paper.results import Results
from experiments.paper.vmnist import VmnistExperiment

NETWORKS = 3
WIDER = "wider"
# What the wider grid has beyond the default grid.
MORE: dict[str, list[Any]] = {
    "min_separation": [0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 2.5],
    "weight_power": [0.0, 0.5, 1.0, 2.0, 4.0],
    "veto_distance": [np.inf, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0],
    "min_gain": [-0.1, -0.05, -0.02, 0.0, 0.02, 0.05, 0.1],
    "distance_power": [0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0],
}


def wider_grid() -> list[dict[str, list[Any]]]:
    """The default grid with more values of nearly everything."""
    return [part | MORE for part in default_grid()]


def run(mnist: MNIST, kept: Path, folder: Path, *, quick: bool, again: bool) -> str:
    """Run every recipe, and the main one with a wider grid; return the table, which is written to ``folder``."""
    by_recipe = {}
    for name in [*RECIPES, WIDER]:
        wide = name == WIDER
        experiment = VmnistExperiment(
            mnist,
            MAIN if wide else name,
            kept,
            methods=("softmax", "sph_best_on_test") if wide else ("softmax", "sph_best_on_test", "sph_chosen"),
            grid=wider_grid() if wide else None,
        )
        by_recipe[name] = Results(experiment.run(cases(quick, NETWORKS), folder / name / "outcomes.csv", again=again))
    text = recipes_table(by_recipe)
    write_text(folder / "table.md", text)
    return text


def recipes_table(by_recipe: dict[str, Results]) -> str:
    """Three lines for each recipe: softmax's error, and the gain under both protocols; a column for each size."""
    sizes = next(iter(by_recipe.values())).sizes
    sets = len(grid_columns(grid_blocks(wider_grid()))["certainty"])
    rows = [_of_the_paper(sizes)]
    for name, results in by_recipe.items():
        described = RECIPES[MAIN if name == WIDER else name].description + (
            f", {sets:,} sets tried" if name == WIDER else ""
        )
        rows.append([described, "softmax's error", *(percent(error) for error in 1 - results.accuracies())])
        ceiling = [signed(gain / 100) for gain in results.gains("sph_best_on_test")]
        rows.append(["", "fewer errors, best on test (*looks at its labels*)", *ceiling])
        if results.of("sph_chosen"):
            honest = [f"**{signed(gain / 100)}**" for gain in results.gains("sph_chosen")]
            rows.append(["", "fewer errors, chosen honestly", *honest])
    networks = len(next(iter(by_recipe.values())).of("softmax", sizes[0]))
    return table([f"recipe ({networks} networks of each size)", "", *(f"{size:,}" for size in sizes)], rows, texts=2)


def _of_the_paper(sizes: list[int]) -> list[str]:
    published = {100: "29 %", 50_000: "2 %"}
    return ["the paper (gains of 6 to 20 %)", "softmax's error", *(published.get(size, "") for size in sizes)]
