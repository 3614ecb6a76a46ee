"""--costs and --metric of aftermax audit and aftermax fit."""

import json

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv

import aftermax
from aftermax import Decider, SoftmaxClassifier
from helpers.command import refused, run_here
from helpers.samples import make_samples

NAMES = np.array(["ant", "bee", "cat"])
COSTS = np.array([[0.0, 1.0, 1.0], [1.0, 0.0, 1.0], [20.0, 10.0, 0.0]])
TABLE = "true,cat,ant,bee\nbee,1,1,0\ncat,0,20,10\nant,1,0,1\n"


@pytest.fixture
def folder(tmp_path):
    logits, labels = make_samples(n_samples=300, n_classes=3)
    table = {name: logits[:, j] for j, name in enumerate(NAMES)} | {"label": NAMES[labels]}
    csv.write_csv(pa.table(table), tmp_path / "scores.csv")
    (tmp_path / "costs.csv").write_text(TABLE)
    return tmp_path


def expected():
    logits, labels = make_samples(n_samples=300, n_classes=3)
    return Decider(SoftmaxClassifier(), costs=COSTS).fit(logits, NAMES[labels]), logits


def test_an_audit_speaks_of_costs(folder):
    out = run_here("audit", folder / "scores.csv", "--head", "softmax", "--costs", folder / "costs.csv").stdout
    assert out.startswith(expected()[0].outcome_.verdict)


def test_costs_may_have_semicolons_and_decimal_commas(folder):
    (folder / "semicolons.csv").write_text("true;cat;ant;bee\nbee;1,0;1;0\ncat;0;20,0;10\nant;1;0;1\n")
    given = [
        run_here("audit", folder / "scores.csv", "--head", "softmax", "--costs", folder / name).stdout
        for name in ("costs.csv", "semicolons.csv")
    ]
    assert given[0] == given[1]


def test_a_metric_is_named(folder):
    out = run_here("audit", folder / "scores.csv", "--head", "softmax", "--metric", "macro_f1", "--json").stdout
    assert json.loads(out)["outcome"]["objective"] == "macro-F1"


def test_a_head_that_decides_is_saved_and_predicts(folder):
    head = folder / "head.npz"
    err = run_here(
        "fit", folder / "scores.csv", "--head", "softmax", "--costs", folder / "costs.csv", "-o", head
    ).stderr
    decider, logits = expected()
    assert f"Decisions by: {decider.rule_}." in err
    np.testing.assert_array_equal(aftermax.load(head).predict(logits), decider.predict(logits))


def test_the_report_has_the_costs(folder):
    page = folder / "page.html"
    run_here("audit", folder / "scores.csv", "--head", "softmax", "--costs", folder / "costs.csv", "--html", page)
    text = page.read_text(encoding="utf-8")
    assert "Expected cost of the decisions" in text
    assert "Asked for" in text


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("true,cat,ant,bee\nbee,1,1,0\ncat,0,20,10\neel,1,0,1\n", "missing: 'ant'; no class: 'eel'"),
        ("true,cat,ant,bee\nbee,1,1,0\ncat,0,much,10\nant,1,0,1\n", "has 'much' where a cost should be"),
        ("true,cat,ant,bee\nbee,1,1\ncat,0,20,10\nant,1,0,1\n", "is not a table of costs"),
        ("", "is not a table of costs"),
        ("true,cat,ant,bee\nbee,1,1,1\ncat,1,1,1\nant,1,1,1\n", "there is nothing to decide"),
    ],
)
def test_a_table_that_does_not_fit_is_refused_with_its_name(folder, table, message):
    (folder / "costs.csv").write_text(table)
    error = refused("audit", folder / "scores.csv", "--costs", folder / "costs.csv")
    assert message in error.replace("\n", " ")
    assert "costs.csv" in error


def test_costs_and_a_metric_together_are_refused(folder):
    error = refused("audit", folder / "scores.csv", "--costs", folder / "costs.csv", "--metric", "macro_f1")
    assert "--costs and --metric cannot be used together" in error
    assert "macro_f1" in refused("audit", folder / "scores.csv", "--metric", "auc")
