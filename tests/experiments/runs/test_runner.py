"""The runner: what is kept is not measured again, and a run that was killed is resumed."""

import json
import sys
from dataclasses import dataclass

import pytest

from experiments.runs import provenance
from experiments.runs.csv_records import read_records, write_records
from experiments.runs.runner import Experiment

pytest.importorskip("torch")  # run.json has the kind of processor from it


@dataclass(frozen=True)
class Record:
    number: "int"
    method: "str"
    value: "float"
    text: "str"
    flag: "bool"

    @property
    def key(self):
        return (self.number,)


@dataclass(frozen=True)
class Number:
    number: int

    @property
    def key(self):
        return (self.number,)


class Powers(Experiment[Number, Record]):
    """Numbers to the second and third power."""

    name = "powers"
    record = Record
    seeds = "none"
    code = ("runs",)
    methods = ("square", "cube")

    def __init__(self, killed_at=None):
        self.killed_at, self.measured = killed_at, []

    def settings(self):
        return {"methods": list(self.methods)}

    def measure(self, task, methods):
        if task.number == self.killed_at:
            raise KeyboardInterrupt
        self.measured.append((task.number, *methods))
        text = 'a "text", and\nmore'
        exponents = {"square": 2, "cube": 3}
        return [Record(task.number, name, task.number ** exponents[name] / 2, text, True) for name in methods]

    def describe(self, records):
        return f"{records[0].number}: {', '.join(str(record.value) for record in records)}"


TASKS = [Number(number) for number in (3, 1, 2)]


def test_records_come_in_the_order_of_the_tasks_and_are_kept_in_the_order_of_their_keys(tmp_path, capsys):
    records = Powers().run(TASKS, tmp_path / "powers.csv")
    assert [record.value for record in records] == [4.5, 13.5, 0.5, 0.5, 2.0, 4.0]
    assert sorted(records, key=lambda record: record.number) == read_records(Record, tmp_path / "powers.csv")
    assert "[1/3] 3: 4.5, 13.5\n" in capsys.readouterr().out


def test_a_run_that_was_killed_is_resumed(tmp_path, capsys):
    path = tmp_path / "powers.csv"
    with pytest.raises(KeyboardInterrupt):
        Powers(killed_at=2).run(TASKS, path)
    assert "Stopped; tasks kept: 2. Run the same command again to resume." in capsys.readouterr().err
    assert {record.number for record in read_records(Record, path)} == {1, 3}
    resumed = Powers()
    assert len(resumed.run(TASKS, path)) == 6
    assert resumed.measured == [(2, "square", "cube")]
    assert sorted(file.name for file in tmp_path.iterdir()) == ["powers.csv", "run.json"]


def test_what_is_kept_is_measured_again_only_on_request(tmp_path):
    path = tmp_path / "powers.csv"
    first = Powers().run(TASKS, path)
    for options, measured in [
        ({}, []),
        ({"redo": ["cube"]}, [(3, "cube"), (1, "cube"), (2, "cube")]),
        ({"again": True}, [(3, "square", "cube"), (1, "square", "cube"), (2, "square", "cube")]),
    ]:
        experiment = Powers()
        assert experiment.run(TASKS, path, **options) == first
        assert experiment.measured == measured


def test_a_run_is_not_resumed_if_settings_code_versions_or_processor_have_changed(tmp_path):
    path = tmp_path / "powers.csv"
    Powers().run(TASKS[:1], path)
    made = json.loads((tmp_path / "run.json").read_text())
    for changes, message in [
        ({"settings": {"methods": ["square"]}}, "methods was"),
        ({"code": "another"}, "code was another"),
        ({"versions": made["versions"] | {"numpy": "1.0"}}, "numpy was 1.0"),
        ({"processor": "another"}, "processor was another"),
    ]:
        (tmp_path / "run.json").write_text(json.dumps(made | changes))
        with pytest.raises(ValueError, match=rf"in another way \({message}.*: start over with --again"):
            Powers().run(TASKS, path)
    (tmp_path / "run.json").write_text(json.dumps(made | {"code": "another"}))
    assert len(Powers().run(TASKS[:1], path)) == 2  # nothing to add: the settings are enough
    (tmp_path / "run.json").unlink()
    with pytest.raises(ValueError, match=r"no run.json that says how they were made: start over with --again"):
        Powers().run(TASKS, path)
    assert len(read_records(Record, path)) == 2


def test_the_methods_that_were_measured_again_are_recorded_with_their_code(tmp_path, monkeypatch):
    path = tmp_path / "powers.csv"
    Powers().run(TASKS, path)
    before = provenance.read(tmp_path)
    monkeypatch.setattr(provenance, "code_digest", lambda code: "new")
    Powers().run(TASKS, path, redo=["square"])
    after = provenance.read(tmp_path)
    assert [(one["methods"], one["code"]) for one in after.pop("redone")] == [(["square"], "new")]
    assert after == before


def test_a_damaged_file_is_named(tmp_path):
    path = tmp_path / "powers.csv"
    write_records([Record(1, "square", 0.5, "", False)], path)
    path.write_text(path.read_text().replace("0.5", "half"))
    with pytest.raises(ValueError, match=r"powers.csv is damaged or was written by another version .*half"):
        Powers().run(TASKS, path)


def test_without_torch_the_error_names_the_install_command_and_nothing_is_lost(tmp_path, monkeypatch):
    path = tmp_path / "powers.csv"
    records = Powers().run(TASKS, path)
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ImportError, match=r"pip install --editable '\.\[experiments\]'"):
        Powers().run(TASKS, path, again=True)
    assert len(read_records(Record, path)) == len(records)
