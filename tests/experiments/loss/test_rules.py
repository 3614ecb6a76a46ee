"""Pooled scores in PyTorch: they are SPH's and those of Gaussians, and D is that of all batches."""

import numpy as np
import pytest
import torch
from scipy.stats import multivariate_normal

from aftermax import SPHClassifier
from experiments.loss import rules
from experiments.loss.rules import GaussianRule, SPHRule
from helpers.samples import make_samples


@pytest.fixture
def unshrunk(monkeypatch):
    monkeypatch.setattr(rules, "PRIOR", 0.0)
    monkeypatch.setattr(rules, "RIDGE", 0.0)


def samples(seed=1, n_samples=300):
    logits, labels = make_samples(seed=seed, n_samples=n_samples, n_classes=4)
    return torch.from_numpy(logits).float(), torch.from_numpy(labels)


def fitted(kind, responses, labels):
    rule = kind(4)
    with torch.no_grad():
        rule.update(responses, labels)
    return rule


@pytest.mark.usefixtures("unshrunk")
def test_without_shrinkage_the_sph_rule_pools_as_sph_does():
    responses, labels = samples()
    new, _ = samples(seed=2)
    rule = fitted(SPHRule, responses, labels)
    head = SPHClassifier(certainty=1.0, min_gain=-1.0).fit(responses.numpy(), labels.numpy())
    pooled = rule(new).argmax(dim=1).numpy()
    sent_on = head.route(new.numpy()) == "pooled"
    assert sent_on.mean() > 0.9
    np.testing.assert_array_equal(pooled[sent_on], head.predict(new.numpy())[sent_on])


@pytest.mark.usefixtures("unshrunk")
def test_without_shrinkage_the_gaussian_rule_is_the_log_likelihood():
    responses, labels = samples()
    scores = fitted(GaussianRule, responses, labels)(responses[:5]).numpy()
    for number in range(4):
        own = responses[labels == number].numpy()
        gaussian = multivariate_normal(own.mean(axis=0), np.cov(own.T, ddof=0))
        constant = 0.5 * 4 * np.log(2 * np.pi)
        np.testing.assert_allclose(scores[:, number], gaussian.logpdf(responses[:5].numpy()) + constant, rtol=1e-3)


@pytest.mark.parametrize("kind", [SPHRule, GaussianRule])
def test_earlier_batches_count_less_and_are_constants(kind):
    rule, (responses, labels) = kind(4), samples()
    first = responses[:100].clone().requires_grad_()
    last = responses[100:200].clone().requires_grad_()
    rule.update(first, labels[:100])
    statistics = rule.update(last, labels[100:200])
    counts = [torch.bincount(labels[part], minlength=4) for part in (slice(100), slice(100, 200))]
    torch.testing.assert_close(statistics[0], 0.9 * counts[0] + counts[1].float())
    rule(last, statistics).sum().backward()
    assert first.grad is None
    assert torch.isfinite(last.grad).all()
    assert last.grad.abs().sum() > 0


@pytest.mark.parametrize("kind", [SPHRule, GaussianRule])
def test_a_class_without_samples_and_equal_responses_give_finite_scores(kind):
    responses, labels = samples(n_samples=40)
    missing = fitted(kind, responses[labels != 2], labels[labels != 2])
    assert torch.isfinite(missing(responses)).all()
    assert torch.isfinite(fitted(kind, torch.zeros(40, 4), labels)(responses)).all()
