"""Audits to report, and a browser that is patient: no time limit fails because the machine is busy."""

import shutil
import warnings

import numpy as np
import pytest
from sklearn.naive_bayes import GaussianNB

from aftermax import AutoHead, SPHClassifier, audit
from aftermax.data import load_vmnist
from aftermax.report import write_report
from helpers.report_pages import PATIENCE
from helpers.samples import make_samples

ARGUMENTS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest.fixture(scope="module")
def browser():
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("the browser chromium is not installed")
    playwright.expect.set_options(timeout=PATIENCE)
    with playwright.sync_playwright() as started:
        running = started.chromium.launch(executable_path=chromium, args=ARGUMENTS, timeout=PATIENCE)
        yield running
        running.close()


@pytest.fixture
def new_page(browser):
    """Open empty pages, with options of a browser context."""
    contexts = []

    def open_page(**options):
        context = browser.new_context(**options)
        context.set_default_timeout(PATIENCE)
        context.set_default_navigation_timeout(PATIENCE)
        contexts.append(context)
        return context.new_page()

    yield open_page
    for context in contexts:
        context.close()


@pytest.fixture
def opened(new_page, tmp_path):
    """Open a report as a colleague would, and check afterwards: no error, no other file, no network."""
    messages, requests = [], []

    def open_report(result, logits, labels, width=1000, scheme="light", **options):
        write_report(tmp_path / "report.html", result, logits, labels, **options)
        page = new_page(viewport={"width": width, "height": 800}, color_scheme=scheme)
        page.on("console", lambda message: messages.append(message.text))
        page.on("pageerror", lambda error: messages.append(str(error)))
        page.on("request", lambda request: requests.append(request.url))
        page.goto((tmp_path / "report.html").as_uri())
        return page

    yield open_report
    assert messages == []
    assert {url for url in requests if not url.startswith("data:")} == {(tmp_path / "report.html").as_uri()}


@pytest.fixture(scope="session")
def digits():
    scores = load_vmnist(trained_on=500)
    logits, labels = scores.val_logits[:400], scores.val_labels[:400]
    return audit(logits, labels, AutoHead(cv=2)), logits, labels


@pytest.fixture(scope="session")
def animals():
    """Five classes with names, and a head that is cross-validated."""
    logits, labels = make_samples(seed=1, n_samples=200)
    labels = np.array(["ant", "bee", "cat", "dog", "eel"])[labels]
    return audit(logits, labels, GaussianNB(), cv=3), logits, labels


@pytest.fixture(scope="session")
def gated():
    """The same with SPH, which has a gate."""
    logits, labels = make_samples(seed=1, n_samples=200)
    labels = np.array(["ant", "bee", "cat", "dog", "eel"])[labels]
    return audit(logits, labels, SPHClassifier(certainty=0.6), cv=3), logits, labels


@pytest.fixture(scope="session")
def many():
    """A hundred classes, of which one has no samples."""
    logits, labels = make_samples(seed=3, n_samples=600, n_classes=100, home=4.0)
    kept = labels != 7
    logits, labels = logits[kept], labels[kept]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return audit(logits, labels, GaussianNB(), classes=np.arange(100), cv=3), logits, labels
