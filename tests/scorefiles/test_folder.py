"""Folders of score files, part by part: what is done, what is not, and that the one is never taken for the other."""

import os
import subprocess

import numpy as np
import pytest
from pyarrow import parquet

from aftermax import SPHClassifier
from aftermax._scorefiles.folder import predict_folder
from aftermax._scorefiles.types import ReadOptions
from aftermax._utils.files import _host
from helpers.folders import PARTS, Runner, assert_all_predicted, path_of, predict, samples_of, write_part
from helpers.samples import make_samples
from helpers.score_files import NAMES


def test_every_part_is_predicted_and_the_folder_says_that_it_is_complete(head, source):
    done = predict(head, source)
    assert_all_predicted(head, source.parent / "predictions")
    assert (done.counts.rows, done.counts.labelled, done.parts, done.done_before) == (206, 206, PARTS, 0)
    correct = [head.predict(logits) == NAMES[labels] for logits, labels in map(samples_of, range(PARTS))]
    assert done.counts.correct_by_head == np.concatenate(correct).sum()


def test_a_second_run_does_nothing_and_reports_the_same(head, source):
    first, again = predict(head, source), Runner()
    second = predict(head, source, again)
    assert again.ran == []
    assert second.counts.to_state() == first.counts.to_state()
    assert second.done_before == PARTS


def test_samples_that_the_head_was_fitted_on_are_noticed_across_parts(source):
    logits, labels = (np.concatenate(both) for both in zip(*map(samples_of, range(PARTS)), strict=True))
    head = SPHClassifier().fit(logits, NAMES[labels])
    assert predict(head, source).counts.fitted_on_share == 1.0
    assert predict(head, source).counts.fitted_on_share == 1.0  # from the notes


@pytest.mark.parametrize("change", ["head", "options", "scores"])
def test_parts_made_of_anything_else_are_made_again(head, source, change):
    predict(head, source)
    again, other = Runner(), head
    if change == "head":
        logits, labels = make_samples(seed=5)
        other = SPHClassifier(min_gain=-1.0).fit(logits, NAMES[labels])
        predict(other, source, again, head_hash="b")
    elif change == "options":
        predict(head, source, again, keep=("label",))
    else:
        write_part(source, 2)  # the same bytes, but who knows
        os.utime(path_of(source, 2), ns=(1, 1))
        predict(head, source, again)
    assert again.ran == (
        ["2.parquet"] if change == "scores" else ["0.parquet", "1.parquet", "2.parquet", "more/3.parquet"]
    )
    assert_all_predicted(other, source.parent / "predictions")


@pytest.mark.parametrize("number", [0, 1])
def test_an_unreadable_part_is_named_the_others_are_done_and_the_next_run_does_the_rest(head, source, number):
    damaged = path_of(source, number)
    damaged.write_bytes(damaged.read_bytes()[:-100])
    expected = rf"1 of 4 parts could not be predicted: .*scores/{number}.parquet is damaged.* 3 of 4"
    with pytest.raises(OSError, match=expected):
        predict(head, source)
    out = source.parent / "predictions"
    assert not (out / "_complete.json").exists()
    assert not path_of(out, number).exists()
    write_part(source, number)
    again = Runner()
    predict(head, source, again)
    assert again.ran == [f"{number}.parquet"]
    assert_all_predicted(head, out)


def ended_process():
    process = subprocess.Popen(["true"])
    process.wait()
    return process.pid


def test_parts_between_two_damaged_ones_are_predicted(head, source):
    for number in (0, 3):
        path_of(source, number).write_bytes(b"PAR1")
    with pytest.raises(OSError, match=r"2 of 4 parts could not be predicted: .* 2 of 4 parts are done"):
        predict(head, source)
    again = Runner()
    with pytest.raises(OSError, match=r"2 of 4 parts could not be predicted: .* 2 of 4 parts are done"):
        predict(head, source, again)
    assert again.ran == ["0.parquet", "more/3.parquet"]


def test_a_folder_is_not_complete_from_when_any_part_is_unfinished(head, source):
    complete = source.parent / "predictions" / "_complete.json"
    predict(head, source)
    path_of(source, 2).write_bytes(b"PAR1")
    with pytest.raises(OSError, match=r"1 of 4 parts could not be predicted: .* 3 of 4 parts are done"):
        predict(head, source)
    assert not complete.exists()
    write_part(source, 2)
    predict(head, source)
    assert complete.exists()
    for number in range(PARTS):
        path_of(source, number).write_bytes(b"PAR1")
    with pytest.raises(ValueError, match=r"None of 4 parts can be predicted. .*scores/0.parquet is damaged"):
        predict(head, source)
    assert not complete.exists()


def test_a_run_that_is_interrupted_leaves_no_part_that_looks_done(head, source):
    class Interrupted(Runner):
        def __call__(self, function, work, parts):
            for part, outcome in super().__call__(function, work, parts):
                if len(self.ran) == 3:
                    (source.parent / "predictions" / "_parts" / "2.parquet.json").unlink()  # killed before the note
                    raise KeyboardInterrupt
                yield part, outcome

    with pytest.raises(KeyboardInterrupt):
        predict(head, source, Interrupted())
    out = source.parent / "predictions"
    assert not (out / "_complete.json").exists()
    (out / f".3.parquet.{_host()}.{ended_process()}.2.partial").write_bytes(b"PAR1")  # of a worker that was killed
    again = Runner()
    predict(head, source, again)
    assert again.ran == ["2.parquet", "more/3.parquet"]
    assert_all_predicted(head, out)
    assert list(out.rglob("*.partial")) == []


def test_predictions_that_were_changed_or_removed_are_made_again(head, source):
    predict(head, source)
    out = source.parent / "predictions"
    path_of(out, 0).unlink()
    path_of(out, 1).write_bytes(b"PAR1")
    (out / "_parts" / "2.parquet.json").write_text('{"stamp": 1}')
    again = Runner()
    predict(head, source, again)
    assert again.ran == ["0.parquet", "1.parquet", "2.parquet"]
    assert_all_predicted(head, out)


def test_a_score_file_that_changes_while_it_is_read_is_not_done(head, source):
    class Changing(Runner):
        def __call__(self, function, work, parts):
            os.utime(path_of(source, 1), ns=(1, 1))  # after the work was planned
            yield from super().__call__(function, work, parts)

    with pytest.raises(OSError, match=r"1.parquet has changed while it was read"):
        predict(head, source, Changing())
    predict(head, source)
    assert_all_predicted(head, source.parent / "predictions")


def test_a_part_without_rows_has_no_predictions_and_is_done(head, source):
    table = parquet.read_table(path_of(source, 0))
    parquet.write_table(table.slice(0, 0), source / "empty.parquet")
    predict(head, source)
    assert not (source.parent / "predictions" / "empty.parquet").exists()
    again = Runner()
    assert predict(head, source, again).parts == PARTS + 1
    assert again.ran == []


def test_a_full_disk_ends_the_run(head, source):
    class Full(Runner):
        def __call__(self, function, work, parts):
            for part in parts:
                self.ran.append(part.name)
                yield part, OSError(28, "No space left on device")

    run = Full()
    with pytest.raises(OSError, match=r"scores/0.parquet: No space left on device. .* 0 of 4 parts are done"):
        predict(head, source, run)
    assert run.ran == ["0.parquet"]


def test_npy_files_are_parts_too(head, tmp_path):
    folder = tmp_path / "scores"
    folder.mkdir()
    for number in range(2):
        np.save(folder / f"{number}.npy", samples_of(number)[0])
    predict(head, folder)
    found = parquet.read_table(tmp_path / "predictions" / "1.parquet")["predicted"].to_pylist()
    assert found == head.predict(samples_of(1)[0]).tolist()


def test_folders_that_cannot_be_meant_are_refused(head, source, tmp_path):
    (tmp_path / "none").mkdir()
    with pytest.raises(ValueError, match="has no score files"):
        predict(head, tmp_path / "none")
    with pytest.raises(ValueError, match="inside each other"):
        predict_folder(head, source, source / "out", ReadOptions(), Runner(), head_hash="a")
    np.save(source / "0.npy", samples_of(0)[0])
    with pytest.raises(ValueError, match=r"several formats, .npy, .parquet"):
        predict(head, source)
    (source / "0.npy").unlink()
    out = tmp_path / "predictions"
    out.mkdir()
    (out / "thesis.parquet").write_text("mine")
    with pytest.raises(FileExistsError, match="is not empty"):
        predict(head, source)
    (out / "thesis.parquet").unlink()
    predict(head, source)
    path_of(source, 2).unlink()
    with pytest.raises(FileExistsError, match=r"holds 2.parquet, for which there is no score file"):
        predict(head, source)


def test_missing_columns_are_an_error_before_anything_is_run(head, source):
    run = Runner()
    with pytest.raises(ValueError, match=r"None of 4 parts can be predicted\. .*no column 'id' for --keep"):
        predict(head, source, run, keep=("id",))
    assert run.ran == []
    assert not (source.parent / "predictions").exists()
