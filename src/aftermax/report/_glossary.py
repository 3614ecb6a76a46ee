"""What the words of the report mean, for those who have not met them."""

from __future__ import annotations

import html

ANSWERING = {  # by what was chosen
    "softmax": "softmax: the model as it is",
    "combination": "combination: several corrections of the model's scores, weighed against each other",
    "sph": "SPH: where softmax is uncertain, the class whose usual responses are nearest",
}
ANSWERING["SPHClassifier"] = ANSWERING["sph"]
TERMS = {
    "Softmax (the model as it is)": (
        "What the model answers today: the class with the largest of its scores, which softmax turns into shares "
        "that sum to 1. In this report, before is always softmax."
    ),
    "Head": (
        "A last step after the model. It takes the model's scores and answers in place of softmax; the model "
        "itself is not changed."
    ),
    "Wins and losses": (
        "A win is a row that softmax gets wrong and the head gets right; a loss is a row that softmax gets right "
        "and the head gets wrong. All other rows speak for neither."
    ),
    "Found (recall, sensitivity)": (
        "Of all rows that truly are of a class, the share that is answered with that class."
    ),
    "p": (
        "How likely a difference as large as this would be by chance alone, if there were none in truth. Below "
        "0.05, it is usually taken to be more than chance."
    ),
    "95 % interval": "Where the same figure will lie on as many new rows of the same kind, 95 times out of 100.",
    "McNemar's test": (
        "The usual test for two answers to the same rows: do wins and losses differ by more than chance?"
    ),
    "Combination": (
        "A head that adds several corrections to the model's scores. How much each of them counts is chosen on "
        "rows kept out."
    ),
    "SPH": (
        "Softmax-Pooling Hybrid, another kind of head. Where softmax is certain, it agrees; where softmax is not, "
        "it pools."
    ),
    "Pooled": (
        "Answered by all response units together: with the class whose usual responses are nearest to those to the row."
    ),
    "Response unit": (
        "One of the model's outputs. There is one for each class, and its score should be large for rows of that "
        "class; what it says to rows of other classes holds information too."
    ),
    "Spread": (
        "How far responses usually are from their mean, on either side: a standard deviation of that side alone."
    ),
    "Log-loss": (
        "How little probability is given to the true class, on average. Smaller is better, and to be certain and "
        "wrong costs most."
    ),
}


def glossary() -> str:
    """The terms and what they mean, as the items of a list."""
    return "\n".join(f"<dt>{html.escape(term)}</dt><dd>{html.escape(words)}</dd>" for term, words in TERMS.items())
