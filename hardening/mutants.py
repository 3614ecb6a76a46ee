"""Mutation tests: the core is changed in one place at a time, and its own tests must notice.

A mutant is killed if a test fails with it, or does not end. It survives if all tests of its module pass. Survivors that
change no result, such as a loop that is left later, are explained in hardening/mutants_explained.csv. Loops that numba
compiles are changed as plain Python, which computes the same.
"""

import csv
import json
import os
import resource
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Generator, Iterator, Sequence
from hashlib import sha256
from importlib import import_module
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import spec_from_file_location
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any, NamedTuple

import numpy as np
import pytest

from hardening import report
from hardening.interpreted import interpret_loops
from hardening.mutations import Mutation, mutations_of

ROOT = Path(__file__).parents[1]
SOURCES, TESTS = ROOT / "src" / "aftermax", ROOT / "tests"
LOG = ROOT / "build" / "mutants.jsonl"
EXPLAINED = Path(__file__).with_name("mutants_explained.csv")
# What is mutated, and the tests that must notice: those that notice most come first.
KERNEL_TESTS = ("sph/test_response_array.py", "sph/test_pooling.py", "sph/test_reference.py", "sph/test_weights.py")
SWEEP_TESTS = ("sph/test_sweep.py", "sph/test_sweep_many_classes.py")
LOOP_TESTS = (  # of the sweep's loops as Python, which are slow
    *(
        f"sph/test_sweep.py::{name}"
        for name in (
            "test_one_row_for_each_combination_in_the_order_of_the_hyperparameters",
            "test_it_evaluates_on_the_fitted_samples_if_there_are_no_others",
            "test_values_of_any_number_type_do",
            "test_powers_so_small_that_products_vanish_are_settled_as_the_estimator_settles_them",
            "test_huge_distances_and_powers_are_settled_as_the_estimator_settles_them",
            "test_scores_that_tie_are_settled_as_the_estimator_settles_them",
            "test_agrees_exactly_with_fitting_set_by_set[0]",
            "test_agrees_exactly_with_fitting_set_by_set[1]",
        )
    ),
    "sph/test_sweep_many_classes.py::test_few_samples_of_few_of_the_classes",
    "sph/test_weights.py::test_weighted_counts_are_those_of_fitting_one_by_one",
)
CHOICE_TESTS = ("sph/test_classifier_cv.py", "sph/test_splits.py")
CORE = {
    "sph/response_array.py": KERNEL_TESTS,
    "sph/_pooling.py": (*KERNEL_TESTS[1:], "sph/test_classifier.py"),
    "sph/_kernels.py": (*KERNEL_TESTS[:3], "sph/test_weights.py::test_a_weight_of_3_counts_like_three_copies"),
    "sph/_weights.py": ("sph/test_weights.py",),
    "sph/_fit.py": ("sph/test_reference.py", "sph/test_classifier.py", "sph/test_weights.py"),
    "sph/classifier.py": ("sph/test_classifier.py", "sph/test_update.py", "sph/test_weights.py"),
    "sph/sweep.py": SWEEP_TESTS,
    "sph/_sweep_counts.py": SWEEP_TESTS,
    "sph/_sweep_kernels.py": LOOP_TESTS,
    "sph/_sweep_rules.py": SWEEP_TESTS,
    "sph/_sweep_scores.py": LOOP_TESTS,
    "sph/choice.py": CHOICE_TESTS,
    "auto/guard.py": ("auto/test_guard.py", "auto/test_selection.py"),
    "_utils/paired_tests.py": ("utils/test_paired_tests.py", "utils/test_comparison.py"),
    "_utils/comparison.py": ("utils/test_comparison.py", "utils/test_paired_tests.py"),
}
COMPILED = {"sph/_kernels.py", "sph/_sweep_kernels.py", "sph/_sweep_scores.py"}  # modules of loops
# Seconds of computing of the tests of a module: the fastest come first, those that then do not fit in are left out.
BUDGET, BUDGET_OF_LOOPS = 15.0, 60.0
TIMES, SPARE = 10, 30.0  # a mutant that takes so many times as long, and some seconds more, does not end


class Task(NamedTuple):
    """A mutant of a module."""

    module: str
    mutation: Mutation


class Job(NamedTuple):
    """A module with a source, and the tests to run: all of them, and how long each takes, if none is named."""

    module: str
    source: str
    tests: tuple[str, ...] = ()
    seconds: float = 3_600.0


def run(count: int | None = None, minutes: float | None = None) -> str:
    """Try ``count`` mutants, drawn at random, or all; what an earlier run with the same code found is kept."""
    everything = [Task(module, one) for module in CORE for one in mutations_of((SOURCES / module).read_text())]
    chosen = np.sort(np.random.default_rng(0).permutation(len(everything))[: count or len(everything)])
    tasks = [everything[place] for place in chosen]
    started = time.monotonic()
    outcomes = tried(tasks)
    about = (
        f"`python -m hardening mutants{f' --count {count}' if count else ''}`: {len(tasks):,} of {len(everything):,} "
        f"mutants; the last run took {time.monotonic() - started:,.0f} s. {' '.join((__doc__ or '').split())}"
    )
    return _reported(tasks, outcomes, about)


# ---- the run ---------------------------------------------------------------------------------------------------------


def tried(tasks: Sequence[Task]) -> dict[Task, str]:
    """Whether each mutant was killed or survived; what is known already is taken from the log."""
    LOG.parent.mkdir(exist_ok=True)
    LOG.touch()
    known = dict(json.loads(line) for line in LOG.read_text().splitlines())
    modules = list(dict.fromkeys(task.module for task in tasks))
    sources = {module: (SOURCES / module).read_text() for module in modules}
    with _Workers() as workers, LOG.open("a") as log:

        def found(jobs: dict[str, Job]) -> Iterator[tuple[str, Any]]:
            for key, outcome in workers.over({key: job for key, job in jobs.items() if key not in known}):
                known[key] = outcome
                log.write(json.dumps([key, outcome]) + "\n")
                log.flush()
                yield key, outcome

        as_is = {module: Job(module, sources[module]) for module in modules}
        unchanged = {_key(job): job for job in as_is.values()}  # some modules share their tests
        for key, durations in found(unchanged):
            print(f"the tests of {unchanged[key].module} take {sum(durations.values()):.1f} s", flush=True)
        budgets = {module: BUDGET_OF_LOOPS if module in COMPILED else BUDGET for module in modules}
        tests = {module: _fastest(known[_key(job)], budgets[module]) for module, job in as_is.items()}
        jobs = {task: Job(task.module, task.mutation.source, *tests[task.module]) for task in tasks}
        keys = {_key(job): task for task, job in jobs.items()}
        missing = sum(key not in known for key in keys)
        print(f"{len(tasks) - missing:,} are known, {missing:,} to do", flush=True)
        for done, (key, outcome) in enumerate(found({_key(job): job for job in jobs.values()}), start=1):
            if outcome == "survived" or done % 50 == 0:
                module, change = keys[key]
                print(
                    f"[{done}/{missing}] {outcome}: {module}:{change.line}: {change.before} -> {change.after}",
                    flush=True,
                )
    return {task: known[_key(job)] for task, job in jobs.items()}


def _key(job: Job) -> str:
    """Which result this is: of this source with these tests."""
    tests = [(TESTS / name.split("::")[0]).read_text() for name in CORE[job.module]]
    if job.tests:
        told = [job.module, job.source, *tests, *job.tests]
    else:  # how long the tests take does not depend on what is tested
        told = ["Python" if job.module in COMPILED else "compiled", *CORE[job.module], *tests]
    return sha256("\n".join(told).encode()).hexdigest()[:20]


def _fastest(durations: dict[str, float], budget: float) -> tuple[tuple[str, ...], float]:
    """The tests to run, fastest first, and the seconds after which they do not end any more."""
    ordered = sorted(durations, key=lambda test: durations[test])
    total = np.cumsum([durations[test] for test in ordered])
    tests = ordered[: max(1, int(np.searchsorted(total, budget)))]
    return tuple(tests), SPARE + TIMES * float(total[len(tests) - 1])


class _Workers:
    """One worker for each core; each imports what all tests need, and forks for each job."""

    def __enter__(self) -> "_Workers":
        context = get_context("spawn")
        self.ends = []
        for _ in os.sched_getaffinity(0):
            ours, theirs = context.Pipe()
            context.Process(target=_work, args=(theirs,)).start()
            theirs.close()  # so that either side notices when the other has ended
            self.ends.append(ours)
        return self

    def __exit__(self, *_: object) -> None:
        for end in self.ends:
            end.close()

    def over(self, jobs: dict[str, Job]) -> Iterator[tuple[str, Any]]:
        """What each job comes to, as they end."""
        waiting, running = list(reversed(jobs.items())), {}
        idle = list(self.ends)
        while waiting or running:
            while waiting and idle:
                end = idle.pop()
                running[end], job = waiting.pop()
                end.send(job)
            for end in wait(list(running)):
                assert isinstance(end, Connection)
                idle.append(end)
                yield running.pop(end), end.recv()


def _work(end: Connection) -> None:
    for library in ("hypothesis", "numba", "pytest", "scipy.optimize", "scipy.stats", "sklearn.model_selection"):
        import_module(library)  # before the fork, so that no job waits for it
    os.chdir(ROOT)
    os.environ["AFTERMAX_SHARED"] = "/nowhere"  # tests on large files take long
    while True:
        try:
            job = end.recv()
        except EOFError:  # there is nothing more to do
            return
        with tempfile.TemporaryDirectory() as name:
            durations, output = Path(name) / "durations.json", Path(name) / "output.txt"
            child = os.fork()
            if not child:
                os._exit(_tests_of(job, durations, output))
            passed = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
            if job.tests:
                end.send("survived" if passed else "killed")
            elif passed:
                end.send(json.loads(durations.read_text()))
            else:
                raise AssertionError(f"the tests of {job.module} fail as it is:\n{output.read_text()[-3_000:]}")


def _tests_of(job: Job, durations: Path, output: Path) -> int:
    """The exit code of pytest, in a process of its own."""
    with output.open("wb") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    resource.setrlimit(resource.RLIMIT_CPU, (int(job.seconds) + 1, int(job.seconds) + 1))
    signal.alarm(10 * int(job.seconds))  # one that waits takes no processor time
    if job.module in COMPILED:
        interpret_loops()
    sys.meta_path.insert(0, _Finder(job.module, job.source))
    without = [f"-pno:{name}" for name in ("xdist", "cacheprovider", "pytest_cov")]
    without.append("-Wignore::pytest.PytestAssertRewriteWarning")  # of what was imported before the fork
    try:
        plugin = _Order(job.tests)
        code = pytest.main(["-x", "-q", *without, *(str(TESTS / test) for test in CORE[job.module])], [plugin])
        durations.write_text(json.dumps(plugin.durations))
        return int(code)
    except BaseException:  # a mutant may break pytest itself
        traceback.print_exc()
        return 1
    finally:
        sys.stdout.flush()


class _Order:
    """A plugin of pytest that runs these tests in this order, and knows how much computing time each took."""

    def __init__(self, tests: Sequence[str]) -> None:
        self.places = {test: place for place, test in enumerate(tests)}
        self.durations: dict[str, float] = {}

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        if self.places:
            items[:] = sorted(
                (item for item in items if item.nodeid in self.places), key=lambda item: self.places[item.nodeid]
            )

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: Any) -> Generator[None, Any, Any]:
        started = time.process_time()
        outcome = yield
        self.durations[item.nodeid] = time.process_time() - started
        return outcome


class _Finder(MetaPathFinder):
    """Imports one module from another source."""

    def __init__(self, module: str, source: str) -> None:
        self.name = f"aftermax.{module.removesuffix('.py').replace('/', '.')}"
        self.path, self.source = SOURCES / module, source

    def find_spec(self, fullname: str, path: object, target: ModuleType | None = None) -> ModuleSpec | None:
        """The changed module; nothing for all others."""
        if fullname != self.name:
            return None
        return spec_from_file_location(fullname, self.path, loader=_Loader(fullname, self.path, self.source))


class _Loader(SourceFileLoader):
    def __init__(self, fullname: str, path: Path, source: str) -> None:
        super().__init__(fullname, str(path))
        self.changed = source

    def get_code(self, fullname: str) -> CodeType:
        """The code of the changed source, which no cache holds."""
        return compile(self.changed, self.path, "exec", dont_inherit=True)


# ---- the report ------------------------------------------------------------------------------------------------------


def explanations() -> dict[tuple[str, str, str, str], str]:
    """Why survivors change no result: by module, line as it is written, and change."""
    with EXPLAINED.open(newline="", encoding="utf-8") as file:
        return {(row["module"], row["line"], row["before"], row["after"]): row["why"] for row in csv.DictReader(file)}


def identity(task: Task) -> tuple[str, str, str, str]:
    line = (SOURCES / task.module).read_text().splitlines()[task.mutation.line - 1].strip()
    return task.module, line, _one_line(task.mutation.before), _one_line(task.mutation.after)


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _reported(tasks: Sequence[Task], outcomes: dict[Task, str], about: str) -> str:
    known = explanations()
    rows = []
    for module in dict.fromkeys(task.module for task in tasks):
        own = [task for task in tasks if task.module == module]
        survived = [task for task in own if outcomes[task] == "survived"]
        explained = sum(identity(task) in known for task in survived)
        rows.append(_row(module, len(own), len(survived), explained))
    keys = ("mutants", "survived", "explained")
    rows.append(_row("all", *(sum(int(str(row[key])) for row in rows) for key in keys)))
    text = report.write("mutants", rows, about)
    survivors = [
        dict(zip(("module", "line", "before", "after"), identity(task), strict=True))
        | {"why": known.get(identity(task), "")}
        for task in tasks
        if outcomes[task] == "survived"
    ]
    if survivors:
        about = "Mutants that no test notices (`python -m hardening mutants`), and why they change no result."
        report.write("mutants_survived", survivors, about)
    return text


def _row(module: str, mutants: int, survived: int, explained: int) -> dict[str, object]:
    counted = mutants - explained
    return {
        "module": module,
        "mutants": mutants,
        "killed": mutants - survived,
        "survived": survived,
        "explained": explained,
        "killed, %": f"{100 * (mutants - survived) / mutants:.1f}",
        "killed of those not explained, %": f"{100 * (mutants - survived) / max(counted, 1):.1f}",
    }
