"""Two runs on one folder of predictions, and other programs that change it."""

import pytest

from aftermax._scorefiles.folder import Work, predict_part
from aftermax._scorefiles.folder_files import find_files
from aftermax._scorefiles.parts import begin, plan_parts, write_note
from aftermax._scorefiles.types import ReadOptions
from helpers.folders import Runner, assert_all_predicted, path_of, predict


def test_predictions_that_another_program_removes_meanwhile_are_not_called_complete(head, source):
    class Removing(Runner):
        def __call__(self, function, work, parts):
            yield from super().__call__(function, work, parts)
            path_of(source.parent / "predictions", 1).unlink()
            (source.parent / "predictions" / "_complete.json").write_text("{}")  # of the other program

    with pytest.raises(OSError, match=r"scores/1.parquet were changed or removed .* run the command again"):
        predict(head, source, Removing())
    assert not (source.parent / "predictions" / "_complete.json").exists()
    predict(head, source)
    assert_all_predicted(head, source.parent / "predictions")


def test_two_runs_with_the_same_head_do_each_part_once_and_both_are_complete(head, source):
    second = Runner()

    class First(Runner):
        def __call__(self, function, work, parts):
            for done, outcome in enumerate(super().__call__(function, work, parts)):
                if done == 1:
                    written.append(path_of(out, 0).stat().st_mtime_ns)
                    predict(head, source, second)  # which finishes the parts that are left, and then this run goes on
                    written.append(path_of(out, 3).stat().st_mtime_ns)
                yield outcome

    out, written = source.parent / "predictions", []
    predict(head, source, First())
    assert second.ran == ["2.parquet", "more/3.parquet"]
    assert [path_of(out, number).stat().st_mtime_ns for number in (0, 3)] == written
    assert_all_predicted(head, out)


def test_a_part_that_another_run_does_after_the_work_was_planned_is_not_forgotten(head, source, tmp_path):
    files = find_files(source, tmp_path / "out")
    parts = plan_parts(source, tmp_path / "out", files, {})
    begin(tmp_path / "out", parts)
    work = Work(head, ReadOptions(), probabilities=False)
    predict_part(work, parts[1])
    begin(tmp_path / "out", parts)
    assert path_of(tmp_path / "out", 1).exists()


def test_predictions_removed_before_they_are_noted_are_an_error_that_says_what_to_do(source, tmp_path):
    part = plan_parts(source, tmp_path / "out", find_files(source, tmp_path / "out"), {})[0]
    with pytest.raises(ValueError, match=r"0.parquet was removed by another program: run the command again"):
        write_note(part, {"rows": 3})
