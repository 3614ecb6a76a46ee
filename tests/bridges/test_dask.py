"""Heads on Dask: arrays, data frames, and two worker processes of which one is killed."""

import os
import time
from pathlib import Path

import dask.array as da
import numpy as np
import pytest

from aftermax import AutoHead, Decider, SPHClassifier
from aftermax.bridges.dask import is_certain, predict, predict_proba
from helpers.clusters import CountedHead, kill_one, slowly, two_workers, worker_pids
from helpers.samples import make_samples

NAMES = np.array(["ant", "bee", "cat", "dog", "eel"])


@pytest.fixture(scope="module")
def head():
    logits, labels = make_samples(seed=1)
    return SPHClassifier(min_gain=-1.0).fit(logits, NAMES[labels])


@pytest.fixture(scope="module")
def logits():
    return make_samples(seed=2, n_samples=1000)[0]


# ---- arrays ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("chunks", [(300, 5), (1000, 2), (1, 5)])
def test_an_array_is_predicted_lazily_whatever_its_chunks(head, logits, chunks):
    some = logits[:20] if chunks[0] == 1 else logits
    lazy = da.from_array(some, chunks=chunks)
    predicted, shares = predict(head, lazy), predict_proba(head, lazy)
    assert (predicted.shape, predicted.dtype, predicted.chunks[0]) == ((len(some),), NAMES.dtype, lazy.chunks[0])
    assert (shares.shape, shares.dtype) == ((len(some), 5), np.float64)
    np.testing.assert_array_equal(predicted.compute(scheduler="sync"), head.predict(some))
    np.testing.assert_array_equal(shares.compute(scheduler="sync"), head.predict_proba(some))


def test_the_number_of_samples_need_not_be_known(head, logits):
    lazy = da.from_array(logits, chunks=(300, 5))
    kept = lazy[lazy[:, 0] > 0]
    assert np.isnan(kept.shape[0])
    found = predict(head, kept).compute(scheduler="sync")
    np.testing.assert_array_equal(found, head.predict(logits[logits[:, 0] > 0]))
    nothing = lazy[lazy[:, 0] > np.inf]
    assert len(predict(head, nothing).compute(scheduler="sync")) == 0


def test_one_logit_may_have_one_dimension(logits):
    labels = (logits[:, 0] + np.random.default_rng(0).normal(size=1000) > 0).astype(int)
    head = AutoHead(n_jobs=1, progress=False).fit(logits[:400, 0], labels[:400])
    lazy = da.from_array(logits[:, 0], chunks=300)
    np.testing.assert_array_equal(predict(head, lazy).compute(scheduler="sync"), head.predict(logits[:, 0]))
    assert predict_proba(head, lazy).compute(scheduler="sync").shape == (1000, 2)


def test_features_follow_the_chunks_of_the_logits():
    logits, labels = make_samples(seed=1, n_samples=300)
    features = np.random.default_rng(0).normal(size=(300, 4)) + labels[:, None]
    head = AutoHead(n_jobs=1, progress=False).fit(logits, labels, features=features)
    assert head.fitted_head_.uses_features
    lazy, others = da.from_array(logits, chunks=(100, 5)), da.from_array(features, chunks=(70, 2))
    found = predict(head, lazy, features=others).compute(scheduler="sync")
    np.testing.assert_array_equal(found, head.predict(logits, features=features))
    with pytest.raises(ValueError, match="300 samples of logits, but 299 of features"):
        predict(head, lazy, features=others[1:])


def test_a_decider_says_lazily_what_it_is_certain_of(logits):
    samples, labels = make_samples(seed=1)
    decider = Decider(max_error=0.3).fit(samples, labels)
    found = is_certain(decider, da.from_array(logits, chunks=(300, 5))).compute(scheduler="sync")
    np.testing.assert_array_equal(found, decider.is_certain(logits))


def test_what_cannot_be_predicted_is_an_error_at_once(head, logits):
    lazy = da.from_array(logits, chunks=(300, 5))
    with pytest.raises(ValueError, match="logits have 4 columns, but the head was fitted on 5"):
        predict(head, lazy[:, :4])
    with pytest.raises(TypeError, match=r"pass a dask array .* head.predict\(logits\)"):
        predict(head, logits)
    with pytest.raises(TypeError, match="decides every sample alone"):
        is_certain(head, lazy)
    with pytest.raises(TypeError, match=r"aftermax.load\('head.npz'\)"):
        predict("head.npz", lazy)


# ---- data frames -----------------------------------------------------------------------------------------------------


def test_a_data_frame_is_predicted_by_the_names_of_its_columns(head, logits):
    pandas = pytest.importorskip("pandas")
    dd = pytest.importorskip("dask.dataframe")
    frame = pandas.DataFrame(logits[:, ::-1], np.arange(1000) + 7, NAMES[::-1]).assign(id=np.arange(1000))
    lazy = dd.from_pandas(frame, npartitions=3)
    found = lazy.assign(predicted=predict(head, lazy))[["id", "predicted"]].compute(scheduler="sync")
    assert found["predicted"].tolist() == head.predict(logits).tolist()
    assert found.index.tolist() == frame.index.tolist()
    shares = predict_proba(head, lazy)
    assert shares.columns.tolist() == NAMES.tolist()
    np.testing.assert_array_equal(shares.compute(scheduler="sync").to_numpy(), head.predict_proba(logits))
    with pytest.raises(ValueError, match="no column for ant"):
        predict(head, lazy.drop(columns="ant"))


# ---- worker processes ------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def client():
    with two_workers() as client:
        yield client


def test_each_worker_gets_the_head_once_however_many_chunks_there_are(client, logits, tmp_path):
    samples, labels = make_samples(seed=1)
    head = CountedHead(min_gain=-1.0).fit(samples, NAMES[labels])
    head.arrivals = str(tmp_path / "arrivals")
    lazy = da.from_array(logits, chunks=(20, 5)).map_blocks(slowly, dtype=float)
    np.testing.assert_array_equal(predict(head, lazy).compute(), head.predict(logits))
    arrived = Path(head.arrivals).read_text().split()
    workers = set(map(str, worker_pids(client).values()))
    assert workers == {pid for pid in arrived if pid != str(os.getpid())}
    assert all(arrived.count(pid) == 1 for pid in workers)


def test_a_worker_that_is_killed_costs_time_and_nothing_else(client, head, logits):
    lazy = da.from_array(logits, chunks=(25, 5)).map_blocks(slowly, dtype=float)
    running = predict(head, lazy).persist()
    futures = client.futures_of(running)
    deadline = time.monotonic() + 120
    while not any(future.done() for future in futures) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not all(future.done() for future in futures)
    kill_one(client)
    np.testing.assert_array_equal(running.compute(), head.predict(logits))
