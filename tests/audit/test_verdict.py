"""The verdict, for whom the head is better and worse, and how many samples a proof needs."""

import re

import pytest

from aftermax._audit.counts import ClassCounts
from aftermax._audit.verdict import better_and_worse, class_mix, samples_to_be_sure
from helpers.audits import made_up_audit, made_up_candidates

ONE_CANDIDATE = made_up_candidates(combination=(30, 20))
NO_CANDIDATE_GAINS = made_up_candidates(combination=(20, 20), linear=(3, 4))


@pytest.mark.parametrize(
    ("counts", "fields", "verdict"),
    [
        (
            (50, 10, 200),
            {"proven": True},
            r"Yes: 20 of 100 errors are gone \(200 before, 160 after, out-of-fold on 1,000 samples; "
            r"95 % interval: \d+ to \d+ of 100; p < 0\.0001\)\.",
        ),
        ((50, 10, 200), {"chosen": "SVC"}, r"Yes: 20 of 100 errors are gone \(.*\)\."),
        ((5000, 1, 5001), {"rows": 9000, "chosen": "SVC"}, r"Yes: 99 of 100 errors are gone \(5,001 before, 2 after.*"),
        (  # a head that was selected for its gain promises less than the counts
            (50, 10, 200),
            {"proven": True, "gain": 0.17},
            r"Yes: 17 of 100 errors are gone \(200 before, 160 after, .*\)\.",
        ),
        ((50, 10, 200), {"proven": True, "groups": 80}, r"Yes: .*out-of-fold on 1,000 samples in 80 groups; .*"),
        (
            (50, 10, 200),
            {"proven": True, "weighted": True, "error_before": 0.25, "error_after": 0.2},
            r"Yes: 20 of 100 weighted errors are gone \(25\.0 % before, 20\.0 % after, .*",
        ),
        (
            (0, 0, 200),
            {"chosen": "softmax", "proven": False, "candidates": ONE_CANDIDATE, "p_value": 0.1, "rows_needed": (2, 9)},
            r"Not proven: by the best candidate \(combination\), 30 of softmax's 200 errors on 1,000 samples would be "
            r"gone, and 20 would be new, out-of-fold \(p = 0\.1\)\. That could be chance: softmax is kept\. To prove "
            r"it, about 2 to 9 labelled samples would be needed\.",
        ),
        (
            (0, 0, 200),
            {"chosen": "softmax", "proven": False, "candidates": NO_CANDIDATE_GAINS},
            r"No: of softmax's 200 errors on 1,000 samples, no candidate corrects more, out-of-fold, than it adds; "
            r"softmax is kept\.",
        ),
        (
            (0, 0, 200),
            {"chosen": "softmax", "proven": False, "p_value": 0.1},
            r"Not proven: fewer than softmax's 200 errors on 1,000 samples would be left, out-of-fold \(p = 0\.1\), "
            r"but that is not enough of a proof for the head: softmax is kept\.",
        ),
        ((0, 0, 200), {"chosen": "softmax", "proven": False}, r"No: of softmax's 200 errors .*; softmax is kept\."),
        (
            (50, 25, 200),
            {"chosen": "SVC", "p_value": 0.03},
            r"Not proven: 12 of 100 errors are gone \(.*p = 0\.03\), but that could be chance\. To prove it, about "
            r"[\d,]+ to [\d,]+ labelled samples would be needed\.",
        ),
        ((30, 25, 200), {"chosen": "SVC"}, r"Not proven: 2 of 100 errors are gone \(.*\), but that could be chance\."),
        ((21, 20, 400), {"chosen": "SVC"}, r"Not proven: fewer than 1 of 100 errors is gone .*could be chance\."),
        (
            (40, 22, 200),
            {"proven": False, "trust": 0.25, "gain": 0.07},
            r"Probabilities are better, errors unproven: 7 of 100 errors are gone \(.*\), which could be chance, so "
            r"the head trusts a quarter of its correction\. To prove it, about .* labelled samples would be needed\.",
        ),
        (
            (30, 25, 200),
            {"proven": False, "trust": 1.0, "gain": 0.0},
            r"Probabilities are better, errors unproven: fewer than 1 of 100 errors is gone \(.*\), which could be "
            r"chance\.",
        ),
        (
            (100, 58, 458),
            {"proven": True, "gain": 0.08},
            r"Yes: 8 of 100 errors are gone \(458 before, 416 after, out-of-fold on 1,000 samples: 9 of 100, but less "
            r"is to be expected of a head that was chosen on them; 95 % .*",
        ),
        (
            (100, 58, 458),
            {"proven": True, "gain": 0.09},
            r"Yes: 9 of 100 errors are gone \(458 before, 416 after, out-of-fold on 1,000 samples; 95 % .*",
        ),
        (
            (0, 0, 1),
            {"chosen": "SVC"},
            r"No: softmax's only error on these 1,000 samples is not corrected; stay with softmax\.",
        ),
        (
            (0, 0, 200),
            {"chosen": "SVC"},
            r"No: none of softmax's 200 errors on these 1,000 samples is corrected; stay with softmax\.",
        ),
        (
            (12, 12, 200),
            {"chosen": "SVC"},
            r"No: 12 samples get better and as many get worse \(200 before, 200 after, .*\); stay with softmax\.",
        ),
        (
            (10, 16, 200),
            {"chosen": "SVC"},
            r"No: the head would add 3 to every 100 errors \(.*95 % interval: -\d+ to \d+ of 100; p = 0\.92\), though "
            r"that could be chance; stay with softmax\.",
        ),
        (
            (10, 70, 200),
            {"chosen": "SVC"},
            r"No: the head would add 30 to every 100 errors \(200 before, 260 after, .*95 % interval: \d+ to \d+ of "
            r"100; p = 1\), which is hardly chance; stay with softmax\.",
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
    ("counts", "fields", "text"),
    [
        ((60, 10, 200), {}, "these are enough"),
        ((60, 10, 200), {"proven": True}, "these are enough"),
        ((6, 0, 20), {}, "these are enough"),  # though a proof was not to be counted on
        ((30, 20, 200), {"proven": False}, "about 1,500 to 47,000"),
        ((30, 25, 200), {}, "cannot be told"),
        ((10, 20, 200), {}, "cannot be told"),
    ],
)
def test_how_many_samples_a_proof_needs(counts, fields, text):
    result = made_up_audit(*counts, **fields)
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
            {},
            "Better for: b (5 fewer errors), c (4 fewer), d (3 fewer), and 2 others (3 fewer); worse for: none.",
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


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        (
            {},
            "This assumes that classes will be as frequent as here: 0 99.0 %, 1 1.0 %. If they will not be, pass their "
            "true shares as class_prior (--class-prior on the command line).",
        ),
        (
            {"weighted": True, "class_shares": (0.25, 0.75)},
            "This assumes that classes will be as frequent as the weights say: 1 75.0 %, 0 25.0 %. If they will not "
            "be, pass their true shares as class_prior (--class-prior on the command line). The probabilities are for "
            "these shares, too.",
        ),
        ({"chosen": "softmax"}, ""),  # softmax has learned nothing of them
    ],
)
def test_which_class_proportions_the_result_assumes(fields, text):
    result = made_up_audit(50, 10, 200, **fields)
    assert class_mix(result) == text
    assert ("This assumes" in str(result)) == bool(text)
    assert text in str(result)


def test_of_many_classes_the_most_frequent_are_named():
    shares = tuple(number / 45 for number in range(10))
    result = made_up_audit(50, 10, 200, classes=tuple("abcdefghij"), class_shares=shares)
    assert ": j 20.0 %, i 17.8 %, h 15.6 %, g 13.3 %, f 11.1 %, and 5 others. " in class_mix(result)
