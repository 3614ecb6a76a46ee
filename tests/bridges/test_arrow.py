"""Heads on Arrow data: record batches, tables and readers, and what other engines make of them."""

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from aftermax import AutoHead, Decider, SPHClassifier
from aftermax.bridges.arrow import predict
from helpers.samples import make_samples

NAMES = np.array(["ant", "bee", "cat", "dog", "eel"])


@pytest.fixture(scope="module")
def head():
    logits, labels = make_samples(seed=1)
    return SPHClassifier(min_gain=-1.0).fit(logits, NAMES[labels])


@pytest.fixture(scope="module")
def logits():
    return make_samples(seed=2)[0]


def table_of(logits, **others):
    """A table whose columns are not in the head's order, with other columns between."""
    order = [3, 0, 4, 1, 2]
    return pa.table(others | {NAMES[j]: logits[:, j] for j in order})


def test_a_table_a_batch_and_a_reader_give_the_heads_predictions(head, logits):
    table = table_of(logits, id=np.arange(len(logits)))
    expected = {"id": list(range(len(logits))), "predicted": head.predict(logits).tolist()}
    (batch,) = table.to_batches()
    assert predict(head, table, keep=["id"]).to_pydict() == expected
    assert isinstance(predict(head, batch, keep=["id"]), pa.RecordBatch)
    assert predict(head, batch, keep=["id"]).to_pydict() == expected
    predicted = predict(head, table.to_reader(max_chunksize=37), keep=["id"])
    assert isinstance(predicted, pa.RecordBatchReader)
    assert predicted.read_all().to_pydict() == expected


def test_a_reader_is_read_only_as_far_as_predictions_are_asked_for(head, logits):
    taken = []

    def batches():
        for batch in table_of(logits).to_batches(max_chunksize=50):
            taken.append(batch.num_rows)
            yield batch

    schema = table_of(logits).schema
    predicted = predict(head, pa.RecordBatchReader.from_batches(schema, batches()))
    assert taken == []
    predicted.read_next_batch()
    assert taken == [50]


def test_probabilities_are_in_columns_called_like_the_classes(head, logits):
    found = predict(head, table_of(logits), probabilities=True)
    assert found.column_names == ["predicted", *NAMES]
    np.testing.assert_array_equal(np.column_stack([found[name] for name in NAMES]), head.predict_proba(logits))


def test_a_head_that_leaves_samples_to_a_person_says_which(logits):
    samples, labels = make_samples(seed=1)
    decider = Decider(max_error=0.3).fit(samples, NAMES[labels])
    found = predict(decider, table_of(logits))
    assert found.column_names == ["predicted", "certain"]
    assert found["certain"].to_pylist() == decider.is_certain(logits).tolist()


def test_features_are_the_columns_called_feature():
    logits, labels = make_samples(seed=1, n_samples=300)
    features = np.random.default_rng(0).normal(size=(300, 4)) + labels[:, None]
    head = AutoHead(n_jobs=1, progress=False).fit(logits, NAMES[labels], features=features)
    assert head.fitted_head_.uses_features
    named = {f"feature_{j}": features[:, j] for j in range(4)}
    found = predict(head, table_of(logits, **named))
    assert found["predicted"].to_pylist() == head.predict(logits, features=features).tolist()
    with pytest.raises(ValueError, match=r"0 columns called feature_\.\.\., but the head was fitted with 4"):
        predict(head, table_of(logits))


def test_other_names_are_given_in_the_order_of_the_classes(head, logits):
    table = table_of(logits).rename_columns(["d", "a", "e", "b", "c"])
    assert predict(head, table, columns=list("abcde"))["predicted"].to_pylist() == head.predict(logits).tolist()
    with pytest.raises(ValueError, match="no column for ant"):
        predict(head, table)


def test_no_rows_give_no_predictions_of_the_same_types(head, logits):
    table = table_of(logits, id=np.arange(len(logits)))
    (batch,) = table.to_batches()
    some, none = predict(head, batch, keep=["id"]), predict(head, batch.slice(0, 0), keep=["id"])
    assert (none.num_rows, none.schema) == (0, some.schema)
    assert predict(head, table.slice(0, 0), keep=["id"]).schema == some.schema


def test_what_is_wrong_is_named(head, logits):
    table = table_of(logits, id=np.arange(len(logits)))
    bad = table.set_column(1, "dog", pa.array([None, *logits[1:, 3]]))
    with pytest.raises(ValueError, match=r"row 0 \(counted from 0\), column 'dog' is empty or NaN"):
        predict(head, bad)
    with pytest.raises(TypeError, match="'dog' is of type string"):
        predict(head, table.set_column(1, "dog", pa.array(["x"] * len(logits))))
    with pytest.raises(ValueError, match="no column 'name'"):
        predict(head, table, keep=["name"])
    with pytest.raises(ValueError, match="would be called 'predicted'"):
        predict(head, table.rename_columns(["predicted", *table.column_names[1:]]), keep=["predicted"])
    with pytest.raises(TypeError, match="data is a ndarray"):
        predict(head, logits)
    with pytest.raises(TypeError, match="head is a path"):
        predict("head.npz", table)


# ---- other engines ---------------------------------------------------------------------------------------------------


@pytest.fixture
def parts(tmp_path, logits):
    for number, rows in enumerate(np.array_split(np.arange(len(logits)), 3)):
        parquet.write_table(table_of(logits[rows], id=rows), tmp_path / f"{number}.parquet")
    return str(tmp_path / "*.parquet")


def test_polars_streams_through_it(head, logits, parts, tmp_path):
    polars = pytest.importorskip("polars")
    schema = {"id": polars.Int64, "predicted": polars.String}
    polars.scan_parquet(parts).map_batches(
        lambda frame: polars.from_arrow(predict(head, frame.to_arrow(), keep=["id"])), schema=schema, streamable=True
    ).sink_parquet(tmp_path / "predictions.pq")
    found = polars.read_parquet(tmp_path / "predictions.pq").sort("id")
    assert found["predicted"].to_list() == head.predict(logits).tolist()


def test_duckdb_streams_through_it(head, logits, parts):
    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect() as reading, duckdb.connect() as writing:
        predicted = predict(head, reading.sql(f"SELECT * FROM '{parts}'").to_arrow_reader(64), keep=["id"])
        found = writing.from_arrow(predicted).order("id").fetchall()
    assert [one for _, one in found] == head.predict(logits).tolist()
