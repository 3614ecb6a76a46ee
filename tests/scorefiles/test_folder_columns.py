"""The columns of logits of the tables in a folder: all by name, or all the same ones in order."""

from contextlib import nullcontext

import numpy as np
import pytest
from pyarrow import parquet

from aftermax import SPHClassifier
from helpers.folders import predict
from helpers.samples import make_samples
from helpers.score_files import write_table


def write_by_class_number(path, headings, seed):
    logits, _ = make_samples(seed=seed, n_classes=3)
    write_table(path, {name: logits[:, j] for j, name in enumerate(headings)})
    return logits


@pytest.mark.parametrize("first", ["0,1,2", "id,u,v", "u,v,w"])
def test_columns_of_all_parts_are_found_in_the_same_way(tmp_path, first):
    logits, labels = make_samples(seed=1, n_classes=3)
    head = SPHClassifier(min_gain=-1.0).fit(logits, labels)
    (tmp_path / "scores").mkdir()
    second = {"0,1,2": "id,u,v", "id,u,v": "0,1,2", "u,v,w": "id,u,v"}[first]
    for number, headings in enumerate((first, second)):
        write_by_class_number(tmp_path / "scores" / f"{number}.parquet", headings.split(","), number)
    says = nullcontext() if first == "0,1,2" else pytest.warns(UserWarning, match="are used as 0, 1, 2, in this order")
    with says, pytest.raises(OSError, match=r"(?i)scores/1.parquet has .* name the columns alike in all files"):
        predict(head, tmp_path / "scores")
    expected = write_by_class_number(tmp_path / "scores" / "1.parquet", first.split(","), 1)
    with nullcontext() if first == "0,1,2" else pytest.warns(UserWarning, match="in this order"):
        predict(head, tmp_path / "scores")
    found = parquet.read_table(tmp_path / "predictions" / "1.parquet")["predicted"].to_pylist()
    assert found == head.predict(expected).tolist()


@pytest.mark.parametrize("incomplete", [0, 1])
def test_a_part_without_the_column_of_a_class_is_told_which_one_it_lacks(tmp_path, incomplete):
    logits, labels = make_samples(seed=1, n_classes=3)
    names = np.array(["ant", "bee", "cat"])
    head = SPHClassifier(min_gain=-1.0).fit(logits, names[labels])
    (tmp_path / "scores").mkdir()
    for number in range(2):
        headings = names if number != incomplete else names[:2]
        write_by_class_number(tmp_path / "scores" / f"{number}.parquet", headings, number)
    says = (
        rf"1 of 2 parts .*scores/{incomplete}.parquet has no column for cat. Its columns are ant, bee. Name the columns"
    )
    with pytest.raises(OSError, match=says):
        predict(head, tmp_path / "scores")
