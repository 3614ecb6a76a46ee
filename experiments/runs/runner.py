"""The runner of all experiments: tasks are measured, one by one or in parallel, and their records kept in a CSV file.

The file is written whole after each task, so a run that is killed loses the current task only, and the same
command resumes it. Beside the file, ``run.json`` says how the records were made; if that has changed, a run is not
resumed. Methods that are new are measured for the tasks that are there already, and ``run.json`` says which.
"""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from joblib import Parallel, delayed, parallel_config

from aftermax._utils.progress import Progress
from experiments.runs import provenance
from experiments.runs.csv_records import read_records, write_records

Key = tuple[Any, ...]


class Keyed(Protocol):
    """A task, or a record: the key is that of the task."""

    @property
    def key(self) -> Key: ...


Task = TypeVar("Task", bound=Keyed)
Record = TypeVar("Record", bound=Any)  # a dataclass of str, int, float and bool, with a key
Missing = Sequence[tuple[Task, Sequence[str]]]  # tasks, and the methods that are to be measured in each


class Experiment(ABC, Generic[Task, Record]):
    """What is measured, and how. :meth:`run` does the rest.

    If a record has an attribute ``method``, records are kept in the order of ``methods``, and single methods can be
    measured again, or added later.
    """

    name: ClassVar[str]  # of the command
    record: ClassVar[type[Any]]
    seeds: ClassVar[str]  # where the random numbers come from
    code: ClassVar[tuple[str, ...]]  # the files and folders of experiments that the numbers depend on
    every_method: ClassVar[bool] = True  # whether those that are new are measured in tasks that are there already
    of_the_processor: ClassVar[tuple[str, ...]] = ()  # settings that differ in the last digits from one to another
    methods: Sequence[str] = ()

    @abstractmethod
    def measure(self, task: Task, methods: Sequence[str]) -> list[Record]:
        """The records of a task: one for each of these methods, except those that the task does not suit."""

    @abstractmethod
    def settings(self) -> dict[str, Any]:
        """What the numbers depend on, besides code, versions and seeds."""

    @abstractmethod
    def describe(self, records: Sequence[Record]) -> str:
        """A line on one task."""

    def suits(self, method: str, records: Sequence[Record]) -> bool:
        """Whether a method suits a task that has these records already."""
        return True

    def check_same(self, known: Sequence[Record], new: Sequence[Record]) -> None:
        """Raise an error if the new records of a task cannot stand beside those that are known."""

    def packages(self) -> Sequence[str]:
        """Packages that the numbers depend on, besides those that every experiment uses."""
        return ()

    def prepare(self, tasks: Sequence[Task]) -> None:
        """Do beforehand what must not be done by several processes at once."""

    def portable(self, task: Task) -> Task:
        """The task as it is sent to another process."""
        return task

    def effort(self, task: Task) -> int:
        """Roughly how long a task takes, relative to others."""
        return 1

    def run(
        self,
        tasks: Sequence[Task],
        path: Path,
        *,
        again: bool = False,
        redo: Sequence[str] = (),
        more: bool = False,
        jobs: int = 1,
    ) -> list[Record]:
        """The records of every task, in the order of the tasks.

        Parameters
        ----------
        tasks : sequence
            What to measure.
        path : Path
            The CSV file. The records that it holds already are not measured again. Methods that it lacks are
            measured, where they suit the task.
        again : bool, default=False
            Forget what the file holds, and measure everything again.
        redo : sequence of str, default=()
            Methods to measure again, with the code as it is now. ``run.json`` says which.
        more : bool, default=False
            Whether tasks that are missing as a whole may be measured with other code, versions and processor than those
            that are there, as tasks are independent. ``run.json`` says which were.
        jobs : int, default=1
            How many processes to use, each with one thread.
        """
        known = {} if again else self._known(path)
        missing = self._missing(tasks, known, redo)
        if more and any(task.key in known for task, _ in missing):
            raise ValueError("Methods are missing in tasks that are there already: only whole tasks can be added so.")
        made = self._provenance(path, missing, redo, fresh=not known, more=more)
        try:
            self.prepare([task for task, _ in missing])
            if missing:
                print(f"Tasks: {len(tasks)}, of which {len(missing)} to do ...", flush=True)
            if not known:  # from here on, what the file holds is lost
                path.unlink(missing_ok=True)
            provenance.write(path.parent, made)
            self._complete(missing, known, path, jobs)
        except KeyboardInterrupt:
            print(f"\nStopped; tasks kept: {len(known)}. Run the same command again to resume.", file=sys.stderr)
            raise
        return [record for task in tasks for record in known[task.key]]

    def _known(self, path: Path) -> dict[Key, list[Record]]:
        known: dict[Key, list[Record]] = {}
        for record in read_records(self.record, path):
            known.setdefault(record.key, []).append(record)
        return known

    def _missing(self, tasks: Sequence[Task], known: dict[Key, list[Record]], redo: Sequence[str]) -> Missing[Task]:
        """The tasks without records, and those with methods to add or to measure again."""
        missing: list[tuple[Task, Sequence[str]]] = []
        for task in tasks:
            if task.key not in known:
                missing.append((task, self.methods))
            elif methods := self._unmeasured(known[task.key], redo):
                missing.append((task, methods))
        return missing

    def _unmeasured(self, records: Sequence[Record], redo: Sequence[str]) -> list[str]:
        """The methods of a known task that are to be measured again, and those that it lacks."""
        measured = {record.method for record in records} if self.methods else set()
        lacked = [name for name in self.methods if self.every_method and name not in measured]
        wanted = {*redo} & measured | {name for name in lacked if self.suits(name, records)}
        return [name for name in self.methods if name in wanted]

    def _provenance(
        self, path: Path, missing: Missing[Task], redo: Sequence[str], *, fresh: bool, more: bool
    ) -> provenance.Provenance:
        """How the records will have been made; an error if those that are there were made in another way."""
        now = provenance.current(self.name, self.settings(), self.seeds, self.code, self.packages())
        if fresh:
            return now
        then = provenance.read(path.parent)
        if more:
            before, after = (provenance.without(made, self.of_the_processor) for made in (then, now))
            provenance.check(path.parent, before, after, (), adding=False)
            return provenance.with_more(then, [task.key for task, _ in missing], now) if missing else then
        new = provenance.new_methods(then, now) if self.every_method else []
        made = provenance.with_added(then, new, now) if new else then
        measured = {name for _, methods in missing for name in methods}
        provenance.check(path.parent, made, now, measured, adding=bool(missing), redoing=bool(redo))
        again = [name for name in redo if name in measured and name not in new]
        return provenance.with_redone(made, again, now) if again else made

    def _complete(self, missing: Missing[Task], known: dict[Key, list[Record]], path: Path, jobs: int) -> None:
        """Measure what is missing, and write the file after each task. What is measured again is replaced by then."""
        effort = {task.key: self.effort(task) for task, _ in missing}
        with Progress("tasks", sum(effort.values())) as bar:
            for done, records in enumerate(self._measured(missing, jobs), start=1):
                key = records[0].key
                if key in known:
                    self.check_same(known[key], records)
                new = {self._place(record) for record in records}
                kept = [record for record in known.get(key, []) if self._place(record) not in new]
                known[key] = sorted([*kept, *records], key=self._place)
                write_records([record for key in sorted(known) for record in known[key]], path)
                bar.step(effort[key])
                if not bar.shown:
                    print(f"[{done}/{len(missing)}] {self.describe(records)}", flush=True)

    def _measured(self, missing: Missing[Task], jobs: int) -> Iterator[list[Record]]:
        """The records of each task as they come; with one job, from this process."""
        if jobs == 1:
            yield from (self.measure(task, methods) for task, methods in missing)
            return
        calls = (delayed(self.measure)(self.portable(task), methods) for task, methods in missing)
        with parallel_config("loky", inner_max_num_threads=1):
            yield from Parallel(jobs, return_as="generator_unordered", pre_dispatch=jobs)(calls)

    def _place(self, record: Record) -> int:
        return self.methods.index(record.method) if self.methods else 0
