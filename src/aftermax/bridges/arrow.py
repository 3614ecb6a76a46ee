"""Heads on Arrow data: the one function by which other engines (Polars, DuckDB, Spark, Ray) predict."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from aftermax._scorefiles.column_roles import ColumnRoles, assign_roles
from aftermax._scorefiles.csv_parquet import numbers_of
from aftermax._scorefiles.messages import join_names, row_number
from aftermax._scorefiles.predict import abstains, options_of_head, predict_rows, without_column_names
from aftermax._scorefiles.types import ReadOptions, Rows
from aftermax._scorefiles.write import CERTAIN, PREDICTED, arrow_columns, column_names, repeated_names
from aftermax.bridges._fitted import check_fitted_head

try:
    import pyarrow
except ImportError as error:
    raise ImportError("Arrow data needs pyarrow: pip install 'aftermax[cli]'") from error

ROWS_AT_A_TIME = 2**16  # of a table


def predict(
    head: Any,
    data: Any,
    *,
    columns: Sequence[str] | None = None,
    keep: Sequence[str] = (),
    probabilities: bool = False,
) -> Any:
    """Predict the class of each row of Arrow data.

    Parameters
    ----------
    head : AutoHead, SPHClassifier, SPHClassifierCV, SoftmaxClassifier or Decider
        Fitted.
    data : pyarrow.RecordBatch, pyarrow.Table or pyarrow.RecordBatchReader
        A column of logits for each class, and for a head that was fitted with features the columns ``feature_...``.
        Other columns may be there. The one column of a head that was fitted on one logit has the name of the second
        class.
    columns : list of str, default=None
        The columns of logits, in the order of the head's classes. If None, those that the head was fitted on, or that
        are called like its classes.
    keep : list of str, default=()
        Columns to copy to the result, such as an id.
    probabilities : bool, default=False
        Whether to add the probability of each class, in a column that is called like the class.

    Returns
    -------
    pyarrow.RecordBatch, pyarrow.Table or pyarrow.RecordBatchReader
        As the data: of a reader, a reader that predicts a batch when it is asked for it. The columns are those in
        ``keep``, ``predicted``, for a head that leaves samples to a person ``certain``, and the probabilities.

    Notes
    -----
    The head uses all cores. Where an engine runs several of these calls at once, let each use one: set the environment
    variable ``NUMBA_NUM_THREADS`` to 1.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from aftermax import SPHClassifier
    >>> from aftermax.bridges.arrow import predict
    >>> from aftermax.data import load_vmnist
    >>> scores = load_vmnist(trained_on=500)
    >>> head = SPHClassifier().fit(scores.val_logits, scores.val_labels)
    >>> names = [str(digit) for digit in range(10)]
    >>> table = pa.table([*scores.test_logits.T, range(4000)], [*names, "id"])
    >>> predict(head, table, keep=["id"]).slice(0, 2).to_pylist()
    [{'id': 0, 'predicted': 2}, {'id': 1, 'predicted': 5}]
    """
    check_fitted_head(head)
    if not isinstance(data, pyarrow.RecordBatch | pyarrow.Table | pyarrow.RecordBatchReader):
        raise TypeError(
            f"data is a {type(data).__name__}: pass a pyarrow RecordBatch, Table or RecordBatchReader. Most engines "
            "have a method that gives one, such as to_arrow()."
        )
    plan = _plan(head, data.schema, columns, keep, probabilities)
    if isinstance(data, pyarrow.RecordBatch):
        return plan.predict(data)
    batches = data.to_batches(ROWS_AT_A_TIME) if isinstance(data, pyarrow.Table) else data
    predicted = plan.predict_all(iter(batches))
    if isinstance(data, pyarrow.Table):
        return pyarrow.Table.from_batches(list(predicted), plan.schema)
    return pyarrow.RecordBatchReader.from_batches(plan.schema, predicted)


@dataclass(frozen=True)
class _Plan:
    """Which columns are read and which are made of them."""

    head: Any  # without column names
    roles: ColumnRoles
    probabilities: bool
    schema: Any  # of the predictions

    def predict_all(self, batches: Iterator[Any]) -> Iterator[Any]:
        first = 0
        for batch in batches:
            yield self.predict(batch, first)
            first += batch.num_rows

    def predict(self, batch: Any, first: int = 0) -> Any:
        if batch.num_rows == 0:
            return _empty(self.schema)
        roles = self.roles
        logits = numbers_of(batch, roles.logits, "The data", first, row_number)
        features = numbers_of(batch, roles.features, "The data", first, row_number) if roles.features else None
        kept = {one: batch.column(one) for one in roles.keep}
        predictions = predict_rows(self.head, Rows(logits, None, features, kept), self.probabilities)
        return pyarrow.RecordBatch.from_arrays(arrow_columns(predictions), schema=self.schema)


def _empty(schema: Any) -> Any:
    return pyarrow.RecordBatch.from_arrays([pyarrow.array([], kind) for kind in schema.types], schema=schema)


def _plan(head: Any, schema: Any, columns: Sequence[str] | None, keep: Sequence[str], probabilities: bool) -> _Plan:
    roles = roles_in(head, list(schema.names), columns, keep)
    for one in [*roles.logits, *roles.features]:
        kind = schema.field(one).type
        if not (pyarrow.types.is_integer(kind) or pyarrow.types.is_floating(kind)):
            raise TypeError(f"Column {one!r} is of type {kind}: logits and features must be numbers. Cast the column.")
    classes = head.classes_
    by_class = list(map(str, classes.tolist())) if probabilities else []
    certain = abstains(head)
    names = column_names(by_class, keep, certain=certain)
    repeated = repeated_names(names)
    if repeated:
        raise ValueError(f"Two columns of the predictions would be called {min(repeated)!r}: rename the one in keep.")
    kinds = {PREDICTED: pyarrow.array(classes[:0]).type, CERTAIN: pyarrow.bool_()}
    kinds |= {one: schema.field(one).type for one in keep}
    made = [(name, kinds.get(name, pyarrow.float64())) for name in names]
    return _Plan(without_column_names(head), roles, probabilities, pyarrow.schema(made))


def roles_in(
    head: Any, headings: list[str], columns: Sequence[str] | None = None, keep: Sequence[str] = ()
) -> ColumnRoles:
    """The columns of logits and features for a head, by the names of the columns."""
    missing = [one for one in [*(columns or ()), *keep] if one not in headings]
    if missing:
        raise ValueError(f"The data have no column {missing[0]!r}. Their columns are {join_names(headings)}.")
    if columns is not None and len(columns) != head.n_features_in_:
        raise ValueError(f"columns names {len(columns)} columns, but the head was fitted on {head.n_features_in_}.")
    given = () if columns is None else (tuple(columns),)
    roles = assign_roles(headings, options_of_head(head, ReadOptions(columns=given, keep=tuple(keep))), "The data")
    width = head.features_width_
    if width is not None and len(roles.features) != width and (roles.features or head.fitted_head_.uses_features):
        raise ValueError(
            f"The data have {len(roles.features)} columns called feature_..., but the head was fitted with {width} "
            f"features. Their columns are {join_names(headings)}."
        )
    return roles
