"""Pooled scores of all responses, differentiable: SPH's and those of Gaussians.

A rule keeps running statistics of each class's responses. In training they are updated with each batch, and gradients
flow through the current batch's part of them; what came before is constant.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import torch
from torch import nn

DECAY = 0.9  # of the running statistics, from batch to batch
PRIOR = 10.0  # spreads and covariances are shrunk towards those of all classes, as by so many samples
RIDGE = 0.05  # of the covariance: this share of its mean variance is added to each variance
MIN_VARIANCE = 1e-6

Statistics = tuple[torch.Tensor, ...]


class PooledRule(nn.Module, ABC):
    """Scores of the classes, from all responses of a sample and the distributions of each class's responses (D)."""

    def __init__(self, classes: int) -> None:
        super().__init__()
        self.classes = classes
        self.running: Statistics = ()

    def update(self, responses: torch.Tensor, labels: torch.Tensor) -> Statistics:
        """The running statistics with these samples added; what was there counts less by the factor DECAY."""
        members = nn.functional.one_hot(labels, self.classes).to(responses.dtype).T  # classes x samples
        statistics = self._statistics(responses, members)
        self.running = tuple(part.detach() for part in statistics)
        return statistics

    def forward(self, responses: torch.Tensor, statistics: Statistics | None = None) -> torch.Tensor:
        """A score for each sample and class, the larger the likelier; from the running statistics by default."""
        return self._scores(responses, *(self.running if statistics is None else statistics))

    @abstractmethod
    def _statistics(self, responses: torch.Tensor, members: torch.Tensor) -> Statistics: ...

    @abstractmethod
    def _scores(self, responses: torch.Tensor, *statistics: torch.Tensor) -> torch.Tensor: ...

    def _added(self, *new: torch.Tensor, first: int = 0) -> Statistics:
        """Sums of this batch, added to the running ones from number ``first`` on."""
        old = self.running[first : first + len(new)] or tuple(map(torch.zeros_like, new))
        return tuple(DECAY * before + now for before, now in zip(old, new, strict=True))


class SPHRule(PooledRule):
    """Minus SPH's pooled score: the squares of weighted distances, in spreads to the left or right of the mean.

    The weights come from the separations of the classes (``min_separation`` 0, ``weight_power`` 1) and are constants to
    the gradient. There is neither gate, veto nor trust: every sample is pooled. A factor that is learnt makes logits of
    the scores; it does not change which class is the first.
    """

    def __init__(self, classes: int) -> None:
        super().__init__(classes)
        self.log_scale = nn.Parameter(torch.zeros(()))

    def _statistics(self, responses: torch.Tensor, members: torch.Tensor) -> Statistics:
        count, total = self._added(members.sum(dim=1), members @ responses)
        mean = total / count.clamp(min=MIN_VARIANCE)[:, None]
        distance = responses[None] - mean[:, None]  # class x sample x unit
        right = members[:, :, None] * (distance > 0)
        left = members[:, :, None] * (distance < 0)
        squares = distance.square()
        sides = ((left * squares).sum(1), left.sum(1), (right * squares).sum(1), right.sum(1))
        return count, total, *self._added(*sides, first=2)

    def _scores(self, responses: torch.Tensor, *statistics: torch.Tensor) -> torch.Tensor:
        count, total, left_squares, left_count, right_squares, right_count = statistics
        mean = total / count.clamp(min=MIN_VARIANCE)[:, None]
        all_counts = (left_count + right_count).sum(0).clamp(min=1.0)
        shared = (left_squares + right_squares).sum(0) / all_counts + MIN_VARIANCE
        left = ((left_squares + PRIOR * shared) / (left_count + PRIOR)).sqrt()
        right = ((right_squares + PRIOR * shared) / (right_count + PRIOR)).sqrt()
        weights = _weights(mean.detach(), left.detach(), right.detach())
        distance = responses[:, None] - mean
        spreads = torch.where(distance > 0, right, left)
        pooled = (weights * distance / spreads).square().sum(dim=2)
        # With equal weights of 1 / K, K times the sum is the mean of the squared distances.
        return -self.log_scale.exp() * self.classes * pooled


def _weights(mean: torch.Tensor, left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
    """SPH's W: the median separation of each class from the others at each unit, divided by the class's sum."""
    classes = len(mean)
    difference = mean[:, None] - mean[None]  # class x other class x unit
    above = difference > 0
    own = torch.where(above, left[:, None], right[:, None])
    others = torch.where(above, right[None], left[None])
    separation = difference.abs() / (0.5 * (own + others))
    rest = separation[~torch.eye(classes, dtype=torch.bool)].reshape(classes, classes - 1, -1)
    median = torch.quantile(rest, 0.5, dim=1)
    return median / median.sum(dim=1, keepdim=True).clamp(min=MIN_VARIANCE)


class GaussianRule(PooledRule):
    """Log-likelihood of a Gaussian for each class, its log-determinant included.

    Each class's covariance is shrunk towards that of all classes (regularized discriminant analysis, Friedman, 1989).
    """

    def _statistics(self, responses: torch.Tensor, members: torch.Tensor) -> Statistics:
        count, total = self._added(members.sum(dim=1), members @ responses)
        mean = total / count.clamp(min=MIN_VARIANCE)[:, None]
        own = responses - members.T @ mean  # from the mean of the sample's own class
        [scatter] = self._added(torch.einsum("kn,ni,nj->kij", members, own, own), first=2)
        return count, total, scatter

    def _scores(self, responses: torch.Tensor, *statistics: torch.Tensor) -> torch.Tensor:
        count, total, scatter = statistics
        mean = total / count.clamp(min=MIN_VARIANCE)[:, None]
        units = torch.eye(responses.shape[1])
        shared = scatter.sum(0) / count.sum()
        covariance = (scatter + PRIOR * shared) / (count + PRIOR)[:, None, None]
        variance = RIDGE * shared.diagonal().mean() + MIN_VARIANCE
        triangle = torch.linalg.cholesky(covariance + variance * units)
        inverse = torch.linalg.solve_triangular(triangle, units.expand_as(triangle), upper=False)
        whitened = torch.einsum("kij,nkj->nki", inverse, responses[:, None] - mean)
        log_determinant = triangle.diagonal(dim1=1, dim2=2).log().sum(dim=1)
        scores: torch.Tensor = -0.5 * whitened.square().sum(dim=2) - log_determinant
        return scores


RULES: dict[str, type[PooledRule]] = {"sph": SPHRule, "gaussian": GaussianRule}
