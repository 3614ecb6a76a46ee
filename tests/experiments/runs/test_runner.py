"""The runner: what is kept is not measured again, a run that was killed is resumed, and new methods are added."""

import json
import sys
from dataclasses import dataclass, replace

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

    def __init__(self, killed_at=None, methods=("square", "cube")):
        self.killed_at, self.methods, self.measured = killed_at, methods, []

    def settings(self):
        return {"methods": list(self.methods)}

    def measure(self, task, methods):
        if task.number == self.killed_at:
            raise KeyboardInterrupt
        self.measured.append((task.number, *methods))
        text = 'a "text", and\nmore'
        exponents = {"square": 2, "cube": 3, "fourth": 4}
        return [Record(task.number, name, task.number ** exponents[name] / 2, text, True) for name in methods]

    def check_same(self, known, new):
        if {record.text for record in known} != {record.text for record in new}:
            raise ValueError(f"{known[0].number} is not what it was")

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
        ({"settings": {"methods": ["square", "fourth"]}}, "methods was"),
        ({"settings": {"methods": ["cube", "square"]}}, "methods was"),
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


# ---- methods that are added ------------------------------------------------------------------------------------------

MORE = ("square", "fourth", "cube")


def codes_of(monkeypatch, code):
    monkeypatch.setattr(provenance, "code_digest", lambda _: code)


def test_a_new_method_is_measured_for_every_task_and_nothing_else_is(tmp_path, monkeypatch):
    path = tmp_path / "powers.csv"
    Powers().run(TASKS, path)
    lines, before = path.read_text().split("\n3,")[0], provenance.read(tmp_path)
    codes_of(monkeypatch, "new")
    experiment = Powers(methods=MORE)
    records = experiment.run(TASKS, path)
    assert experiment.measured == [(3, "fourth"), (1, "fourth"), (2, "fourth")]
    assert [(record.number, record.method) for record in records[:3]] == [(3, "square"), (3, "fourth"), (3, "cube")]
    without = [record for record in read_records(Record, path) if record.method != "fourth"]
    write_records(without, path)
    assert path.read_text().startswith(lines)
    after = provenance.read(tmp_path)
    [added] = after.pop("added")
    assert (added["methods"], added["code"], added["commit"]) == (["fourth"], "new", provenance.commit())
    assert after == before | {"settings": {"methods": list(MORE)}}


def test_adding_a_method_is_resumed_but_only_with_the_same_code(tmp_path, monkeypatch):
    path = tmp_path / "powers.csv"
    Powers().run(TASKS, path)
    codes_of(monkeypatch, "new")
    with pytest.raises(KeyboardInterrupt):
        Powers(killed_at=2, methods=MORE).run(TASKS, path)
    codes_of(monkeypatch, "newer")
    with pytest.raises(ValueError, match=r"in another way \(code was new, is newer\)"):
        Powers(methods=MORE).run(TASKS, path)
    codes_of(monkeypatch, "new")
    resumed = Powers(methods=MORE)
    assert len(resumed.run(TASKS, path)) == 9
    assert resumed.measured == [(2, "fourth")]
    assert len(provenance.read(tmp_path)["added"]) == 1


def test_adding_a_method_that_was_interrupted_can_be_done_again_with_newer_code(tmp_path, monkeypatch):
    path = tmp_path / "powers.csv"
    Powers().run(TASKS, path)
    with pytest.raises(KeyboardInterrupt):
        Powers(killed_at=2, methods=MORE).run(TASKS, path)
    codes_of(monkeypatch, "newer")
    experiment = Powers(methods=MORE)
    experiment.run(TASKS, path, redo=["fourth"])
    assert experiment.measured == [(3, "fourth"), (1, "fourth"), (2, "fourth")]
    made = provenance.read(tmp_path)
    assert [entry["code"] == "newer" for entry in (*made["added"], *made["redone"])] == [False, True]


def test_new_tasks_need_the_code_of_the_methods_that_are_known(tmp_path, monkeypatch):
    path = tmp_path / "powers.csv"
    Powers().run(TASKS[:2], path)
    codes_of(monkeypatch, "new")
    with pytest.raises(ValueError, match=r"in another way \(code was .*, is new\)"):
        Powers(methods=MORE).run(TASKS, path)
    assert "added" not in provenance.read(tmp_path)
    assert len(read_records(Record, path)) == 4


def test_a_method_is_added_with_the_same_versions_only(tmp_path):
    path = tmp_path / "powers.csv"
    Powers().run(TASKS, path)
    made = provenance.read(tmp_path)
    provenance.write(tmp_path, made | {"versions": made["versions"] | {"numpy": "1.0"}})
    with pytest.raises(ValueError, match=r"in another way \(numpy was 1.0"):
        Powers(methods=MORE).run(TASKS, path)


def test_where_some_methods_do_not_suit_some_tasks_none_is_added(tmp_path):
    class Some(Powers):
        every_method = False

    path = tmp_path / "powers.csv"
    Some().run(TASKS, path)
    with pytest.raises(ValueError, match="methods was"):
        Some(methods=MORE).run(TASKS, path)


def test_what_cannot_stand_beside_the_known_records_is_not_kept(tmp_path):
    path = tmp_path / "powers.csv"
    Powers().run(TASKS, path)
    known = [replace(record, text="another") if record.number == 1 else record for record in read_records(Record, path)]
    write_records(known, path)
    with pytest.raises(ValueError, match="1 is not what it was"):
        Powers(methods=MORE).run(TASKS, path)
    assert {record.number for record in read_records(Record, path) if record.method == "fourth"} == {3}


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


# ---- more tasks, measured in another way -----------------------------------------------------------------------------


def test_independent_tasks_are_added_with_other_code_if_asked_for_and_run_json_says_which(tmp_path, monkeypatch):
    path = tmp_path / "powers.csv"
    Powers().run(TASKS[:1], path)
    monkeypatch.setattr(provenance, "code_digest", lambda code: "another")
    with pytest.raises(ValueError, match=r"code was .*, is another"):
        Powers().run(TASKS, path)
    with pytest.raises(KeyboardInterrupt):
        Powers(killed_at=2).run(TASKS, path, more=True)
    resumed = Powers()
    assert len(resumed.run(TASKS, path, more=True)) == 6
    assert resumed.measured == [(2, "square", "cube")]
    made = json.loads((tmp_path / "run.json").read_text())
    (entry,) = made["more"]
    assert (entry["tasks"], entry["code"]) == ([[1], [2]], "another")
    assert made["code"] != "another"
    assert "tasks measured later: 2" in provenance.sentence(tmp_path)


def test_methods_are_never_added_in_another_way(tmp_path, monkeypatch):
    path = tmp_path / "powers.csv"
    Powers(methods=("square",)).run(TASKS, path)
    monkeypatch.setattr(provenance, "code_digest", lambda code: "another")
    with pytest.raises(ValueError, match="only whole tasks"):
        Powers().run(TASKS, path, more=True)


class OnAProcessor(Powers):
    of_the_processor = ("samples",)

    def __init__(self, samples):
        super().__init__()
        self.samples = samples

    def settings(self):
        return super().settings() | {"samples": self.samples}


def test_a_setting_that_differs_by_the_processor_stops_nothing_but_a_plain_addition(tmp_path):
    path = tmp_path / "powers.csv"
    OnAProcessor("a").run(TASKS[:2], path)
    assert len(OnAProcessor("b").run(TASKS[:2], path, more=True)) == 4  # as for the report alone
    assert "more" not in json.loads((tmp_path / "run.json").read_text())
    with pytest.raises(ValueError, match="samples was a, is b"):
        OnAProcessor("b").run(TASKS, path)
    assert len(OnAProcessor("b").run(TASKS, path, more=True)) == 6
    assert json.loads((tmp_path / "run.json").read_text())["settings"]["samples"] == "a"
