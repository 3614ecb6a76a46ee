"""aftermax predict --dask: folders of score files on worker processes, and what goes wrong with these."""

import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from pyarrow import parquet

import aftermax
from aftermax._cli.optional_address import with_address
from aftermax._scorefiles.folder import predict_folder
from aftermax._scorefiles.types import ReadOptions
from aftermax.bridges import dask_workers
from aftermax.bridges.dask_workers import over_workers
from helpers.clusters import kill_one, two_workers
from helpers.command import SCRIPT, refused, run, run_here
from helpers.samples import make_samples
from helpers.score_files import NAMES, columns, write_table

pytest.importorskip("distributed")

PARTS, ROWS = 12, 20_000


@pytest.fixture(scope="module")
def head():
    logits, labels = make_samples(seed=1)
    return aftermax.SPHClassifier(min_gain=-1.0).fit(logits, NAMES[labels])


def samples_of(number, rows=ROWS):
    return make_samples(seed=100 + number, n_samples=rows)[0]


def write_parts(folder, parts, rows):
    folder.mkdir()
    for number in range(parts):
        ids = np.random.default_rng(number).integers(2**62, size=rows)
        write_table(folder / f"{number:02}.parquet", columns(samples_of(number, rows)) | {"id": ids})


def predictions_in(folder):
    return {path.name: path.read_bytes() for path in sorted(folder.glob("*.parquet"))}


def test_a_worker_that_is_killed_changes_nothing_in_what_is_written(head, tmp_path):
    """Killed by its process id when the first of twelve parts has been reported, with others in work or waiting."""
    write_parts(tmp_path / "scores", PARTS, ROWS)

    def predict(out, killed):
        def run_parts(function, work, parts):
            for done, outcome in enumerate(over_workers(client, function, work, parts), start=1):
                if killed and done == 1:
                    assert not (tmp_path / out / "_complete.json").exists()
                    kill_one(client)
                yield outcome

        return predict_folder(
            head, tmp_path / "scores", tmp_path / out, ReadOptions(keep=("id",)), run_parts, head_hash="a"
        )

    with two_workers() as client:
        done, undisturbed = predict("killed", True), predict("not", False)
    assert done.counts.to_state() == undisturbed.counts.to_state()
    assert done.counts.rows == PARTS * ROWS
    assert predictions_in(tmp_path / "killed") == predictions_in(tmp_path / "not")
    assert (tmp_path / "killed" / "_complete.json").exists()
    assert list((tmp_path / "killed").rglob("*.partial")) == []
    found = parquet.read_table(tmp_path / "killed" / "03.parquet")["predicted"].to_pylist()
    assert found == head.predict(samples_of(3)).tolist()


# One shell in a mount namespace of its own, where any user may mount a small disk.
FULL_DISK = """
mount -t tmpfs -o size=48k tmpfs small || exit 77
"$0" predict head.npz scores -o small/predictions --dask --keep id && exit 1
ls small/predictions
mount -o remount,size=1m small
"$0" predict head.npz scores -o small/predictions --dask --keep id || exit 1
cp -r small/predictions whole
"""


@pytest.mark.slow
def test_a_full_disk_names_the_part_and_the_next_run_goes_on(head, tmp_path):
    write_parts(tmp_path / "scores", 4, 1000)
    aftermax.save(head, tmp_path / "head.npz")
    (tmp_path / "small").mkdir()
    unshare = shutil.which("unshare")
    command = [unshare or "false", "--user", "--map-root-user", "--mount", "sh", "-c", FULL_DISK, str(SCRIPT)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    if unshare is None or done.returncode == 77 or "unshare" in done.stderr:
        pytest.skip("this machine lets nobody mount a small disk")
    assert done.returncode == 0, done
    error, second = (line for line in done.stderr.splitlines() if "parts" in line)
    assert "parts could not be predicted" in error
    assert ".parquet: No space left on device" in error
    assert "_complete.json" not in done.stdout
    assert "4,000 rows in 4 parts" in second
    whole = [parquet.read_table(tmp_path / "whole" / f"{number:02}.parquet") for number in range(4)]
    expected = [head.predict(samples_of(number, 1000)).tolist() for number in range(4)]
    assert [table["predicted"].to_pylist() for table in whole] == expected


def test_the_command_predicts_a_folder_and_a_second_run_has_nothing_to_do(head, tmp_path):
    write_parts(tmp_path / "scores", 2, 100)
    aftermax.save(head, tmp_path / "head.npz")
    asked = ["predict", "head.npz", "scores", "-o", "predictions", "--dask"]
    first = run(*asked, cwd=tmp_path, check=True)
    assert first.stderr == "200 rows in 2 parts. Written to predictions\n"
    second = run(*asked, cwd=tmp_path, check=True)
    assert second.stderr == "200 rows in 2 parts (2 of them by an earlier run). Written to predictions\n"


@pytest.mark.slow
def test_a_damaged_part_is_one_line_of_error_and_for_debugging_there_is_more(head, tmp_path):
    write_parts(tmp_path / "scores", 2, 100)
    (tmp_path / "scores" / "00.parquet").write_bytes(b"PAR1")
    aftermax.save(head, tmp_path / "head.npz")
    asked = ["predict", "head.npz", "scores", "-o", "predictions", "--dask"]
    done = run(*asked, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("aftermax: 1 of 2 parts could not be predicted: ")
    assert done.stderr.count("\n") == 1, done.stderr
    assert parquet.read_table(tmp_path / "predictions" / "01.parquet").num_rows == 100
    debugged = run(*asked, cwd=tmp_path, env=os.environ | {"AFTERMAX_DEBUG": "1"})
    assert "Compute Failed" in debugged.stderr


def test_skipped_files_and_the_number_of_parts_are_on_standard_error(head, tmp_path):
    write_parts(tmp_path / "scores", 1, 10)
    (tmp_path / "scores" / "_old.parquet").write_bytes(b"PAR1")
    (tmp_path / "scores" / "00.parquet").write_bytes(b"PAR1")
    aftermax.save(head, tmp_path / "head.npz")
    done = run_here("predict", "head.npz", "scores", "-o", "out", "--dask", cwd=tmp_path)
    skipped, error = done.stderr.splitlines()
    assert skipped == "aftermax: warning: 1 score file is skipped, as names that begin with _ or . are: _old.parquet."
    assert error.startswith("aftermax: None of 1 parts can be predicted. ")


def test_the_address_of_the_scheduler_may_be_left_out():
    for rest in (["head.npz", "scores"], ["-o", "out"], []):
        assert with_address(["--dask", *rest]) == ["--dask", "local", *rest]
    for address in ("tcp://10.0.0.1:8786", "tls://host:1", "host:8786", "local"):
        assert with_address(["--dask", address, "scores"]) == ["--dask", address, "scores"]


def test_what_a_folder_cannot_have_is_refused(head, tmp_path, monkeypatch):
    write_parts(tmp_path / "scores", 1, 10)
    aftermax.save(head, tmp_path / "head.npz")
    folder = ["predict", "head.npz", "scores"]
    assert "name it with -o" in refused(*folder, "--dask", cwd=tmp_path)
    assert "put both into the score files" in refused(*folder, "--dask", "-o", "out", "--labels", "x.npy", cwd=tmp_path)
    assert "predict all of them with --dask" in refused(*folder, "-o", "out", cwd=tmp_path)
    assert "folder nosuch/deep is not there" in refused(*folder, "--dask", "-o", "nosuch/deep/out", cwd=tmp_path)
    assert not (tmp_path / "nosuch").exists()
    (tmp_path / "arrays").mkdir()
    np.save(tmp_path / "arrays" / "0.npy", samples_of(0, 10))
    arrays = ["predict", "head.npz", "arrays", "--keep", "id", "--dask", "-o", "out"]
    assert "only .csv, .parquet and .jsonl files have some" in refused(*arrays, cwd=tmp_path)
    monkeypatch.setattr(dask_workers, "TIMEOUT", "1s")
    nobody = refused(*folder, "--dask", "127.0.0.1:9", "-o", "out", cwd=tmp_path)
    assert "No Dask scheduler answers at 127.0.0.1:9" in nobody
    single = ["predict", "head.npz", Path("scores") / "00.parquet"]
    assert "is not a folder" in refused(*single, "--dask", "-o", "out", cwd=tmp_path)
