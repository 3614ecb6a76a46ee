"""The comparison of recipes."""

from dataclasses import replace

from aftermax._utils.text import percent
from experiments.networks.recipes import RECIPES
from experiments.paper.results import Outcome, Results
from experiments.runs.csv_records import read_records
from experiments.settings.compare_recipes import NETWORKS, WIDER, default_grid, recipes_table, wider_grid
from helpers.samples import ROOT

OUTCOME = Outcome(100, 0, 0, "softmax", False, 0.7, 0.7, 0.7, 0.0, 0, 0, 1.0, "{}", 1.0)


def made(*methods):
    gains = {"softmax": 0.0, "sph_best_on_test": 0.2, "sph_chosen": 0.125}
    return Results([replace(OUTCOME, method=m, gain=gains[m], trained_on=n) for n in (100, 1_000) for m in methods])


def test_the_table_has_every_recipe_and_says_what_looks_at_test_labels():
    whole = made("softmax", "sph_best_on_test", "sph_chosen")
    text = recipes_table(dict.fromkeys(RECIPES, whole) | {WIDER: made("softmax", "sph_best_on_test")})
    assert text.count("looks at its labels") == len(RECIPES) + 1
    assert text.count("chosen honestly | **+12.5 %** | **+12.5 %** |") == len(RECIPES)
    assert "| Adam, 9 epochs | softmax's error | 30.0 % | 30.0 % |" in text
    assert "sets tried | softmax's error" in text


def test_the_wider_grid_holds_the_default_one():
    for wide, part in zip(wider_grid(), default_grid(), strict=True):
        for name, values in part.items():
            assert set(values) <= set(wide[name])


def test_the_committed_table_is_that_of_the_committed_outcomes():
    folder = ROOT / "results" / "recipes"
    by_recipe = {name: Results(read_records(Outcome, folder / name / "outcomes.csv")) for name in [*RECIPES, WIDER]}
    assert recipes_table(by_recipe) == (folder / "table.md").read_text()
    assert {len(results.of("softmax")) for results in by_recipe.values()} == {9 * NETWORKS}
    assert percent(1 - by_recipe["adam"].accuracies()[0]) in (folder / "table.md").read_text()
