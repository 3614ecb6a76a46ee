"""The mutation tests: what is changed, and that a change which matters is noticed."""

import ast

import pytest

from hardening import mutants
from hardening.mutations import mutations_of


def changes(source):
    return [(one.before, one.after) for one in mutations_of(source)]


def test_comparisons_arithmetic_logic_and_constants_are_changed():
    assert changes("y = a < b") == [("a < b", "(a <= b)"), ("a < b", "(a >= b)")]
    assert changes("y = a - b") == [("a - b", "(a + b)")]
    assert changes("y = a and not b") == [("a and not b", "(a or not b)"), ("not b", "(b)")]
    assert changes("y = 1") == [("1", "2"), ("1", "0")]
    assert changes("y = 0.5, 0.0, True") == [("0.5", "1.0"), ("0.0", "1.0"), ("True", "False")]
    assert changes("y += x") == [("y += x", "y -= x")]


def test_minima_become_maxima_loops_end_otherwise_and_calls_are_left_out():
    assert changes("y = np.argmin(x)") == [("np.argmin", "np.argmax")]
    assert changes("for x in y:\n    break") == [("break", "continue")]
    assert changes("check(x)") == [("check(x)", "pass")]


def test_what_changes_no_result_is_left_as_it_is():
    assert changes('"""1 < 2."""\ndef f(x: int | None) -> Literal[1]:\n    return f"{x + 1}"') == []
    assert changes("@cached(1)\ndef f():\n    return zip(a, b, strict=True)") == []


def test_every_mutation_of_the_core_is_python_and_another_program():
    for module in mutants.CORE:
        source = (mutants.SOURCES / module).read_text()
        same = ast.dump(ast.parse(source))
        for one in mutations_of(source):
            assert ast.dump(ast.parse(one.source)) != same, (module, one.line, one.before, one.after)


def test_survivors_that_are_explained_are_there():
    everything = {
        mutants.identity(mutants.Task(module, one))
        for module in mutants.CORE
        for one in mutations_of((mutants.SOURCES / module).read_text())
    }
    explained = mutants.explanations()
    assert set(explained) <= everything
    assert all(explained.values())


@pytest.mark.slow
def test_a_change_that_matters_is_noticed_and_one_that_does_not_survives(monkeypatch, tmp_path):
    module = "_utils/comparison.py"
    monkeypatch.setattr(mutants, "LOG", tmp_path / "log.jsonl")
    monkeypatch.setattr(mutants, "CORE", {module: mutants.CORE[module][:1]})
    source = (mutants.SOURCES / module).read_text()
    harmless = mutants.Mutation(1, "nothing", "a comment", source + "\n# nothing")
    harmful = next(one for one in mutations_of(source) if one.after.startswith("(") and " - " in one.before)
    tasks = [mutants.Task(module, one) for one in (harmless, harmful)]
    assert list(mutants.tried(tasks).values()) == ["survived", "killed"]
    assert list(mutants.tried(tasks).values()) == ["survived", "killed"]  # from the log
