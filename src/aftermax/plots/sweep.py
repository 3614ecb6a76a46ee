"""The paper's Figure 6: gains on validation samples against gains on test samples."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from aftermax.plots._display import Display
from aftermax.plots.style import ACCENT, GREY, RULE, bare
from aftermax.sph.classifier_cv import SPHClassifierCV
from aftermax.sph.hyperparameters import HYPERPARAMETERS
from aftermax.sph.sweep import sweep

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class SweepDisplay(Display):
    """Every set of hyperparameters as a point: its gain on validation and on test samples. The paper's Figure 6.

    Where the points lie along the diagonal, validation samples rank the sets well. Where they form a cloud, the best
    set on validation samples is a matter of luck.

    Parameters
    ----------
    validation_gain, test_gain : array-like of shape (n_sets,)
        Relative reduction of softmax's error under each set.
    chosen : int, default=None
        Index of the chosen set.
    softmax_kept : bool, default=False
        Whether softmax was kept instead of any set; it is at the origin.
    by : str, default=""
        How the validation gain was measured, for the label of the axis.

    Attributes
    ----------
    oracle : int
        Index of the set with the largest test gain: it cannot be chosen without the test labels.
    axes_ : matplotlib Axes
    figure_ : matplotlib Figure or SubFigure

    Examples
    --------
    >>> from aftermax.plots import SweepDisplay
    >>> display = SweepDisplay([0.0, 0.1, 0.2], [0.0, 0.15, 0.05], chosen=1)
    >>> display.oracle
    1
    >>> display.plot().figure_.savefig("sweep.png")  # doctest: +SKIP
    """

    def __init__(
        self,
        validation_gain: ArrayLike,
        test_gain: ArrayLike,
        *,
        chosen: int | None = None,
        softmax_kept: bool = False,
        by: str = "",
    ) -> None:
        self.validation_gain = np.asarray(validation_gain, dtype=np.float64)
        self.test_gain = np.asarray(test_gain, dtype=np.float64)
        shapes = self.validation_gain.shape, self.test_gain.shape
        if shapes[0] != shapes[1] or self.test_gain.ndim != 1 or not self.test_gain.size:
            raise ValueError(
                f"validation_gain and test_gain have shapes {shapes[0]} and {shapes[1]}: pass one number for each set, "
                "the same sets in both."
            )
        if not np.isfinite([self.validation_gain, self.test_gain]).all():
            raise ValueError("validation_gain or test_gain holds NaN or infinity: drop such sets from both.")
        if chosen is not None and not 0 <= chosen < len(self.test_gain):
            raise ValueError(f"chosen={chosen} is out of range: there are {len(self.test_gain)} sets, counted from 0.")
        self.chosen = chosen
        self.softmax_kept = softmax_kept
        self.by = by
        self.oracle = int(np.argmax(self.test_gain))

    @classmethod
    def from_sweeps(
        cls,
        on_validation: dict[str, NDArray[Any]],
        on_test: dict[str, NDArray[Any]],
        *,
        chosen: int | None = None,
        by: str = "",
        ax: Axes | None = None,
    ) -> Self:
        """Draw two results of :func:`~aftermax.sweep` over the same grid, on validation and on test samples."""
        if not _same_sets(on_validation, on_test):
            raise ValueError("The two sweeps are over different sets of hyperparameters: pass sweeps over one grid.")
        return cls(on_validation["gain"], on_test["gain"], chosen=chosen, by=by).plot(ax=ax)

    @classmethod
    def from_estimator(
        cls,
        estimator: SPHClassifierCV,
        X: ArrayLike,
        y: ArrayLike,
        X_test: ArrayLike,
        y_test: ArrayLike,
        *,
        ax: Axes | None = None,
    ) -> Self:
        """Draw the sets that a fitted SPHClassifierCV chose from.

        ``X`` and ``y`` are the samples it was fitted on; the validation gains are the cross-validated ones that the
        choice was based on.
        """
        check_is_fitted(estimator)
        if not hasattr(estimator, "cv_results_") or "departures" not in estimator.cv_results_:
            raise TypeError(f"{type(estimator).__name__} is not an SPHClassifierCV: pass a fitted one.")
        options: dict[str, Any] = {"classes": estimator.classes_, "n_jobs": estimator.n_jobs}
        on_test = sweep(X, y, estimator.grid, eval_logits=X_test, eval_labels=y_test, **options)
        by_cv = {name: column[:-1] for name, column in estimator.cv_results_.items()}  # the last one is softmax
        if not _same_sets(by_cv, on_test):
            raise ValueError("The grid is no longer the one that was fitted: fit again.")
        kept = estimator.fell_back_
        chosen = None if kept else estimator.best_index_
        display = cls(by_cv["gain"], on_test["gain"], chosen=chosen, softmax_kept=kept, by="cross-validation")
        return display.plot(ax=ax)

    def plot(self, *, ax: Axes | None = None) -> Self:
        """Draw in ``ax`` or in a new figure."""
        axes = self._use_axes(ax, 5.2, 4.8)
        axes.axhline(0.0, color=RULE, linewidth=0.8, zorder=1)
        axes.axvline(0.0, color=RULE, linewidth=0.8, zorder=1)
        axes.axline((0.0, 0.0), slope=1.0, color=RULE, linewidth=0.8, linestyle=(0, (4, 3)), zorder=1)
        gains = np.stack([self.validation_gain, self.test_gain], axis=1)
        self._draw_points(gains)
        self._mark(gains[self.oracle], "^", "white", "best on test: needs its labels")
        if self.softmax_kept:
            self._mark(np.zeros(2), "D", ACCENT, "chosen: softmax")
        elif self.chosen is not None:
            self._mark(gains[self.chosen], "D", ACCENT, "chosen")
        self._zoom(100 * gains.min(), 100 * gains.max())
        axes.set_xlabel("fewer errors on validation samples, %" + (f"\nby {self.by}" if self.by else ""))
        axes.set_ylabel("fewer errors on test samples, %")
        axes.legend(fontsize="small", loc="lower right", markerscale=1.2)
        bare(axes)
        return self

    def _draw_points(self, gains: NDArray[np.float64]) -> None:
        """Each distinct point once, darker where more sets coincide."""
        points, counts = np.unique(gains, axis=0, return_counts=True)
        faintest = np.clip(400 / len(points), 0.12, 0.9)
        opacity = faintest + (1 - faintest) * np.log(counts) / np.log(max(counts.max(), 2))
        self.axes_.scatter(*100 * points.T, s=5, color=GREY, alpha=opacity, linewidths=0, rasterized=True)
        self.axes_.scatter([], [], s=5, color=GREY, label="a set of hyperparameters")

    def _zoom(self, lowest: float, highest: float) -> None:
        """Show the region that the choice is made in; the worst sets may lie far away."""
        scale = max(highest, 1.0)
        low, high = max(-1.5 * scale, min(lowest, 0.0) - 0.15 * scale), 1.15 * scale
        self.axes_.set(xlim=(low, high), ylim=(low, high), aspect="equal")
        outside = np.mean(100 * np.minimum(self.validation_gain, self.test_gain) < low)
        if outside > 0:
            share = f"{100 * outside:.0f} % of the sets" if outside >= 0.005 else "a few sets"
            note = f"{share} are outside the plot"
            self.axes_.text(0.03, 0.97, note, transform=self.axes_.transAxes, fontsize="small", va="top")

    def _mark(self, gains: NDArray[np.float64], marker: str, fill: str, label: str) -> None:
        across, up = 100 * gains
        self.axes_.scatter(across, up, s=55, marker=marker, facecolor=fill, edgecolor="black", zorder=4, label=label)


def _same_sets(ours: dict[str, NDArray[Any]], theirs: dict[str, NDArray[Any]]) -> bool:
    """Whether two tables hold the same hyperparameters in the same order."""
    return all(np.array_equal(ours[name], theirs[name]) for name in HYPERPARAMETERS)
