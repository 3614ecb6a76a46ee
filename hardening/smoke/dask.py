"""Predictions of dask arrays on two workers, and a head fitted on chunks."""

import dask.array as da
from dask.distributed import Client

import aftermax
from aftermax.bridges.dask import fit, predict
from aftermax.data import load_vmnist


def main() -> None:
    scores = load_vmnist(trained_on=100)
    logits, labels = da.from_array(scores.val_logits, (1000, -1)), da.from_array(scores.val_labels, 1000)
    with Client(n_workers=2, threads_per_worker=1, dashboard_address=None):
        head = fit(aftermax.SPHClassifier(), logits, labels)
        predicted = predict(head, da.from_array(scores.test_logits, (1000, -1))).compute()
    assert (predicted == head.predict(scores.test_logits)).all()


if __name__ == "__main__":  # the workers import this file
    main()
