"""aftermax adapt: a head file and unlabelled samples, to a head that assumes their class proportions."""

import json

import numpy as np
import pytest

import aftermax
from helpers.command import refused, run_here
from helpers.label_shift import world

NAMES = np.array(["ant", "bee", "cat"])
EQUAL, TRUE = np.full(3, 1 / 3), np.array([0.8, 0.15, 0.05])


def write_csv(path, logits, **columns):
    heads = [*NAMES, *columns]
    cells = [[*map(repr, map(float, row)), *extra] for row, *extra in zip(logits, *columns.values(), strict=True)]
    path.write_text("\n".join(",".join(row) for row in [heads, *cells]) + "\n")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("adapt")
    logits, labels = world(EQUAL, 400, seed=0)
    aftermax.save(aftermax.SoftmaxClassifier().fit(logits, NAMES[labels]), folder / "head.npz")
    new, classes = world(TRUE, 400, seed=1)
    write_csv(folder / "new.csv", new)
    write_csv(folder / "labelled.csv", new, label=["" if n % 2 else NAMES[k] for n, k in enumerate(classes)])
    write_csv(folder / "groups.csv", new, patient=[f"p{n // 4}" for n in range(400)])
    write_csv(folder / "few.csv", new[:5])
    write_csv(folder / "same.csv", world(EQUAL, 400, seed=2)[0])
    return folder


def test_proportions_are_printed_and_the_adapted_head_is_written(folder):
    done = run_here("adapt", "head.npz", "new.csv", "-o", "head2.npz", cwd=folder, check=True)
    head = aftermax.load(folder / "head2.npz")
    assert head.adaptation_.adapted
    assert done.stdout == f"{head.adaptation_}\n"
    assert done.stderr.endswith("Written to head2.npz\n")
    expected = aftermax.adapt_priors(aftermax.load(folder / "head.npz"), world(TRUE, 400, seed=1)[0])
    assert expected.adaptation_ == head.adaptation_
    predicted = run_here("predict", "head2.npz", "new.csv", cwd=folder, check=True).stdout.split()[1:]
    assert predicted == head.predict(world(TRUE, 400, seed=1)[0]).tolist()


def test_json_is_all_of_it(folder):
    done = run_here("adapt", "head.npz", "new.csv", "-o", "head3.npz", "--json", cwd=folder, check=True)
    printed = json.loads(done.stdout)
    assert printed["adapted"] is True
    assert printed["written"] == "head3.npz"
    assert [one["class"] for one in printed["classes"]] == NAMES.tolist()


def test_labels_are_not_looked_at(folder):
    run_here("adapt", "head.npz", "labelled.csv", "-o", "head4.npz", cwd=folder, check=True)
    assert aftermax.load(folder / "head4.npz").adaptation_.n_samples == 400


def test_groups_are_a_column(folder):
    run_here("adapt", "head.npz", "groups.csv", "-o", "h.npz", "--groups", "patient", cwd=folder, check=True)
    assert aftermax.load(folder / "h.npz").adaptation_.n_groups == 100


def test_a_head_that_stays_as_it_is_is_written_too_and_anyway_adapts_it(folder):
    done = run_here("adapt", "head.npz", "same.csv", "-o", "same.npz", cwd=folder, check=True)
    assert done.stdout.startswith("Not adapted: ")
    assert aftermax.load(folder / "same.npz").fitted_head_.kind == "softmax"
    run_here("adapt", "head.npz", "same.csv", "-o", "same.npz", "--anyway", cwd=folder, check=True)
    assert aftermax.load(folder / "same.npz").fitted_head_.kind == "adapted"


def test_what_cannot_be_is_refused(folder):
    assert "at least 20" in refused("adapt", "head.npz", "few.csv", "-o", "x.npz", cwd=folder)
    assert "name the head first" in refused("adapt", "new.csv", "head.npz", "-o", "x.npz", cwd=folder)
    assert "would be overwritten" in refused("adapt", "head.npz", "new.csv", "-o", "head.npz", cwd=folder)
    assert not (folder / "x.npz").exists()
