"""The verdict, for whom the head is better and worse, and how many samples a proof needs."""

import re

import pytest

from aftermax._audit.counts import ClassCounts
from aftermax._audit.verdict import better_and_worse, samples_to_be_sure
from helpers.audits import made_up_audit


@pytest.mark.parametrize(
    ("counts", "fields", "verdict"),
    [
        (
            (50, 10, 200),
            {"head_p_value": 1e-9},
            r"Yes: 20 of 100 errors are gone \(200 before, 160 after, out-of-fold on 1,000 samples; "
            r"95 % interval: \d+ to \d+ of 100; p < 0\.0001\)\.",
        ),
        ((50, 10, 200), {"chosen": "SVC"}, r"Yes: 20 of 100 errors are gone \(.*\)\."),
        ((5000, 1, 5001), {"rows": 9000, "chosen": "SVC"}, r"Yes: 99 of 100 errors are gone \(5,001 before, 2 after.*"),
        (
            (50, 10, 200),
            {"chosen": "softmax", "head_p_value": 0.2},
            r"Not taken: 20 of 100 errors are gone \(.*\), which is hardly chance, but the head itself keeps softmax "
            r"\(its own test: p = 0\.2\)\.",
        ),
        (
            (30, 20, 200),
            {"chosen": "softmax", "head_p_value": 0.1},
            r"Not proven: 5 of 100 errors are gone \(.*95 % interval: -\d+ to \d+ of 100; p = 0\.2\), but that could "
            r"be chance; if it is not, about 4,100 labelled samples would be needed to be sure\.",
        ),
        ((30, 20, 200), {"chosen": "SVC"}, r"Not proven: 5 of 100 errors are gone .*"),
        (
            (21, 20, 400),
            {"chosen": "SVC"},
            r"Not proven: fewer than 1 of 100 errors is gone .*about 330,000 .*",
        ),
        (
            (30, 20, 200),
            {"head_p_value": 0.01},
            r"Probably: 5 of 100 errors are gone \(.*\); by errors alone that could be chance, and about 4,100 "
            r"labelled samples would be needed to be sure, but by errors and probabilities together the head is better "
            r"and is kept \(its own test: p = 0\.01\)\.",
        ),
        (
            (10, 60, 200),
            {"head_p_value": 0.01, "weighted": True},
            r"No fewer errors: .*; yet by its own measure, in which samples or classes are weighted, the head.*",
        ),
        (
            (0, 0, 1),
            {"chosen": "SVC"},
            r"No: softmax's only error on these 1,000 samples is not corrected; stay with softmax\.",
        ),
        ((30, 20, 200), {"chosen": "sph", "head_p_value": 0.1}, r"Probably: .*but by its own measure the head is.*"),
        (
            (12, 12, 200),
            {"chosen": "softmax", "head_p_value": 0.6},
            r"No: 12 samples get better and as many get worse \(200 before, 200 after, .*p = 1\); softmax stays\.",
        ),
        (
            (12, 12, 200),
            {"head_p_value": 0.01},
            r"No fewer errors: 12 samples .*; yet by errors and probabilities together .*",
        ),
        (
            (0, 0, 200),
            {"chosen": "softmax", "head_p_value": 1.0},
            r"No: none of softmax's 200 errors on these 1,000 samples is corrected; softmax stays\.",
        ),
        (
            (10, 16, 200),
            {"chosen": "softmax", "head_p_value": 0.9},
            r"No: the head would add 3 to every 100 errors \(.*95 % interval: -\d+ to \d+ of 100; p = 0\.33\), though "
            r"that could be chance; softmax stays\.",
        ),
        (
            (10, 70, 200),
            {"chosen": "SVC"},
            r"No: the head would add 30 to every 100 errors \(200 before, 260 after, .*95 % interval: \d+ to \d+ of "
            r"100; p < 0\.0001\), which is hardly chance; stay with softmax\.",
        ),
        (
            (0, 0, 0),
            {"chosen": "softmax"},
            r"No: softmax makes no errors on these 1,000 samples, so there is nothing to gain; if the model was "
            r"trained on these samples, pass others\.",
        ),
        (
            (0, 7, 0),
            {"chosen": "SVC"},
            r"No: softmax makes no errors on these 1,000 samples and the head makes 7, so there is nothing to gain; .*",
        ),
    ],
)
def test_the_verdict_is_one_truthful_sentence(counts, fields, verdict):
    result = made_up_audit(*counts, **fields)
    assert re.fullmatch(verdict, result.verdict), result.verdict
    assert "\n" not in result.verdict
    assert str(result).startswith(result.verdict + "\n\n")
    result.plot().figure_.canvas.draw()


@pytest.mark.parametrize(
    ("counts", "text"),
    [
        ((60, 10, 200), "about 230 would have been enough"),
        ((6, 0, 20), "these are enough"),  # though a proof was not to be counted on
        ((30, 20, 200), "about 4,100"),
        ((10, 20, 200), "no gain to prove"),
    ],
)
def test_how_many_samples_a_proof_needs(counts, text):
    result = made_up_audit(*counts)
    assert samples_to_be_sure(result) == text
    assert re.search(f"^labelled samples needed +{text}$", str(result), flags=re.MULTILINE)


@pytest.mark.parametrize(
    ("nets", "fields", "text"),
    [
        (
            {"nodule": 72, "effusion": 9, "pneumonia": -11, "no finding": -3},
            {},
            "Better for: nodule (72 fewer errors), effusion (9 fewer); worse for: pneumonia (11 more errors), "
            "no finding (3 more).",
        ),
        (
            {"a": 1, "b": 5, "c": 4, "d": 3, "e": 2, "f": 0},
            {"chosen": "softmax"},
            "Would be better for: b (5 fewer errors), c (4 fewer), d (3 fewer), and 2 others (3 fewer); worse for: "
            "none.",
        ),
        ({"a": -1}, {}, "Better for: none; worse for: a (1 more error)."),
        ({"a": 0}, {}, ""),
    ],
)
def test_for_whom_it_is_better_and_for_whom_worse(nets, fields, text):
    counts = tuple(ClassCounts(name, 100, 90, max(net, 0), max(-net, 0)) for name, net in nets.items())
    result = made_up_audit(50, 10, 200, by_class=counts, **fields)
    assert better_and_worse(result) == text
    assert ("etter for" in str(result)) == bool(text)
    assert text in str(result)
