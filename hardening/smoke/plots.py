"""Plots are drawn, and written to a file."""

from pathlib import Path

from matplotlib.figure import Figure

from aftermax import SPHClassifier, audit
from aftermax.data import load_vmnist
from aftermax.plots import ReliabilityDisplay, ResponseArrayDisplay

scores = load_vmnist(trained_on=100)
head = SPHClassifier().fit(scores.val_logits, scores.val_labels)
figures = [Figure(), Figure(), Figure()]
ResponseArrayDisplay.from_estimator(head, figure=figures[0])
ReliabilityDisplay.from_estimator(head, scores.test_logits, scores.test_labels, ax=figures[1].subplots(1, 2))
audit(scores.val_logits[:500], scores.val_labels[:500]).plot(ax=figures[2].subplots(1, 2))
for number, figure in enumerate(figures):
    figure.savefig(f"{number}.png")
    assert Path(f"{number}.png").stat().st_size > 10_000
