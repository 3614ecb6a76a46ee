"""run.json: how results were made, those that are committed included."""

import subprocess

import pytest

from experiments.benchmark.measure import Benchmark
from experiments.paper.vmnist import VmnistExperiment
from experiments.runs import provenance
from experiments.settings.choosing import ChoosingExperiment
from helpers.samples import ROOT

EXPERIMENTS = [VmnistExperiment, ChoosingExperiment, Benchmark]
COMMITTED = sorted(path.parent for path in (ROOT / "results").rglob("outcomes.csv"))
ENTRIES = ["experiment", "command", "settings", "seeds", "commit", "code", "versions", "processor"]


@pytest.mark.parametrize("experiment", EXPERIMENTS)
def test_the_code_that_an_experiment_names_exists(experiment):
    assert [name for name in experiment.code if not (ROOT / "experiments" / name).exists()] == []


def test_the_digest_changes_with_the_code():
    assert provenance.code_digest(["runs"]) == provenance.code_digest(["runs"])
    assert provenance.code_digest(["runs"]) != provenance.code_digest(["data"])


def test_a_new_record_has_every_entry():
    pytest.importorskip("torch")
    made = provenance.current("vmnist", {"methods": ("softmax",)}, "none", ["runs"])
    assert list(made) == ENTRIES
    assert made["settings"] == {"methods": ["softmax"]}
    assert {"python", "numpy", "torch", "aftermax"} <= set(made["versions"])


def test_a_commit_with_changed_code_is_dirty(monkeypatch):
    changes = ""
    monkeypatch.setattr(provenance, "_git", lambda *arguments: "0123abc" if arguments[0] == "rev-parse" else changes)
    assert provenance.commit() == "0123abc"
    changes = " M experiments/commands.py"
    assert provenance.commit() == "0123abc-dirty"


def test_outside_of_a_clone_there_is_no_commit(monkeypatch):
    def no_repository(*_):
        raise subprocess.CalledProcessError(128, "git")

    monkeypatch.setattr(provenance, "_git", no_repository)
    assert provenance.commit() is None


@pytest.mark.parametrize("folder", COMMITTED, ids=lambda folder: str(folder.relative_to(ROOT)))
def test_committed_results_say_which_commit_and_which_settings_made_them(folder):
    made = provenance.read(folder)
    assert set(ENTRIES) <= set(made)
    assert made["settings"]
    commit = made["commit"] or made["committed_in"]
    assert len(commit.removesuffix("-dirty")) == 40
    assert commit in provenance.sentence(folder)


def test_the_sentence_names_the_commit_and_what_was_added_or_measured_again(tmp_path):
    assert provenance.sentence(tmp_path) == ""
    later = {"added": [{"methods": ["knn"], "commit": None}], "redone": [{"methods": ["svc"], "commit": "456def"}]}
    provenance.write(tmp_path, {"commit": "0123abc", **later})
    assert provenance.sentence(tmp_path) == (
        "Measured with commit 0123abc; knn added later; svc measured again with commit 456def. "
        "The settings, versions and processor are in [run.json](run.json).\n"
    )
    provenance.write(tmp_path, {"commit": None})
    assert "the commit is not known" in provenance.sentence(tmp_path)
