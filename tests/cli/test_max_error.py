"""--max-error of fit and audit, and the column certain of predict."""

import json

import numpy as np
import pytest
from pyarrow import csv, parquet

import aftermax
from aftermax.data import load_vmnist
from helpers.command import refused, run_here


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("abstention")
    scores = load_vmnist(trained_on=500)
    np.savez(folder / "val.npz", logits=scores.val_logits[:1_500], labels=scores.val_labels[:1_500])
    np.savez(folder / "new.npz", logits=scores.test_logits[:500], labels=scores.test_labels[:500])
    done = run_here("fit", folder / "val.npz", "--head", "softmax", "--max-error", "0.05", "-o", folder / "head.npz")
    assert "Decides alone: " in done.stderr
    assert "of which at most 5 % are wrong (confidence 95 %)" in done.stderr
    return folder


@pytest.fixture(scope="module")
def certain(folder):
    return aftermax.load(folder / "head.npz").is_certain(np.load(folder / "new.npz")["logits"])


def test_an_audit_says_what_is_decided_alone(folder):
    done = run_here("audit", folder / "val.npz", "--head", "softmax", "--max-error", "0.05")
    assert "Decides alone: " in done.stdout
    as_json = run_here("audit", folder / "val.npz", "--head", "softmax", "--max-error", "0.05", "--json")
    assert json.loads(as_json.stdout)["abstention"]["max_error"] == 0.05


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".jsonl", ".npz"])
def test_predictions_say_which_rows_are_certain(folder, certain, tmp_path, suffix):
    out = tmp_path / f"predicted{suffix}"
    done = run_here("predict", folder / "head.npz", folder / "new.npz", "--probabilities", "-o", out)
    assert f"{certain.sum():,} are decided by the head alone (accuracy of these: " in done.stderr
    assert f"{(~certain).sum():,} are for a person" in done.stderr
    if suffix == ".csv":
        found = csv.read_csv(out)["certain"].to_pylist()
    elif suffix == ".parquet":
        found = parquet.read_table(out)["certain"].to_pylist()
    elif suffix == ".jsonl":
        found = [json.loads(line)["certain"] for line in out.read_text().splitlines()]
    else:
        found = np.load(out)["certain"].tolist()
    assert found == certain.tolist()


def test_one_array_has_no_room_for_which_rows_are_certain(folder, tmp_path):
    assert "for a person: write an .npz file" in refused(
        "predict", folder / "head.npz", folder / "new.npz", "-o", tmp_path / "p.npy"
    )


@pytest.mark.parametrize("value", ["0", "1", "-0.1", "nan", "2", "2%", "two"])
def test_an_impossible_error_is_refused_before_anything_is_read(folder, value):
    message = refused("audit", folder / "nowhere.npz", "--max-error", value)
    assert message == (
        f"aftermax: --max-error {value} is not possible: write a number between 0 and 1, as 0.02 for 2 %.\n"
    )
