"""The terms of the report, for readers who are new to them."""

from __future__ import annotations

from aftermax._many.fitting import CLASS_MEANS, DISCRIMINANTS
from aftermax._residual.fitting import WITHOUT_FEATURES
from aftermax.report._text import definition_list

PREDICTED_BY = {  # by Audit.chosen
    "softmax": "softmax: the model as it is",
    "biases": "biases: a constant added to the logits of each class",
    "linear": "linear: a linear map of the logits, and a constant for each class",
    "combination": "combination: several corrections of the logits, combined by stacking",
    WITHOUT_FEATURES: "combination without features: several corrections of the logits, combined by stacking",
    CLASS_MEANS: "class means: biases, and the similarity of a sample's scores to the mean of each class",
    DISCRIMINANTS: "class means and discriminants: the same, and linear discriminants",
    "sph": "SPH: where softmax is uncertain, the class whose usual responses are nearest",
}
PREDICTED_BY["SPHClassifier"] = PREDICTED_BY["sph"]
TERMS = {
    "Sample": "One labelled example: the outputs of the model for one input, and the true class of that input.",
    "Logits": "The outputs of the model before softmax, one for each class.",
    "Softmax (the model as it is)": (
        "Softmax turns the logits into probabilities that sum to 1, and the model predicts the class with the largest. "
        "In this report, before always means softmax."
    ),
    "Head": (
        "A last step after the model. It takes the logits and predicts in place of softmax; the model itself is not "
        "changed."
    ),
    "Out-of-fold": (
        "Predicted by a head that was fitted without this sample. Only such predictions show what to expect on new "
        "samples."
    ),
    "Wins and losses": (
        "A win is a sample that softmax gets wrong and the head gets right; a loss is a sample that softmax gets right "
        "and the head gets wrong. All other samples do not count for either."
    ),
    "Recall (sensitivity)": "Of all samples of a class, the share that is predicted as that class.",
    "p-value": (
        "How likely a drop of errors at least as large as this would be by chance alone, if there were none in truth. "
        "It is one-sided; below 0.025, the gain is called proven here."
    ),
    "95 % interval": (
        "Where the true gain is, 95 times out of 100. On as many new samples of the same kind the gain varies more."
    ),
    "McNemar's test": (
        "The usual test for two predictions of the same samples: do wins and losses differ by more than chance?"
    ),
    "Combination": (
        "A head that adds several corrections to the logits. Its stacking weights, how much each correction counts, "
        "are fitted on out-of-fold predictions."
    ),
    "Class means": (
        "A head for hundreds of classes and more: it adds to the logit of a class how similar the largest scores of a "
        "sample are to the mean scores of that class."
    ),
    "SPH": (
        "Softmax-Pooling Hybrid, another kind of head. Where softmax is certain, it agrees; where softmax is not, it "
        "pools."
    ),
    "Pooled": "Predicted by all response units together: the class whose usual responses are nearest to the sample's.",
    "Response unit": (
        "One of the model's outputs. There is one for each class, and its logit should be large for samples of that "
        "class; its response to samples of other classes holds information too."
    ),
    "Spread": (
        "How far responses usually are from their mean, on either side: a standard deviation of that side alone."
    ),
    "Log loss": (
        "The negative logarithm of the probability of the true class, on average. Smaller is better; being certain and "
        "wrong costs most."
    ),
}


def glossary() -> str:
    """The terms and what they mean, as the items of a list."""
    return definition_list(TERMS)
