"""What a model card says of the use of a head: what it is, what it is not for, and how to load it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from aftermax._audit.result import Audit
from aftermax._heads.lookup import fitted_head_of
from aftermax._utils.rare_classes import FEW_SAMPLES
from aftermax.report._glossary import PREDICTED_BY
from aftermax.report._markdown import escaped
from aftermax.report._methodology import described_head
from aftermax.storage.head_files import can_be_saved

MAX_NAMED_CLASSES = 20
CODE = """\
```python
import aftermax

head = aftermax.load("head.npz")  # the file that aftermax.save(head, "head.npz") wrote
predictions = head.predict(logits{features})  # logits of shape (n_samples, {width})
probabilities = head.predict_proba(logits{features})
```
"""


def what_it_is(audit: Audit) -> str:
    """What the head is and what it takes."""
    by = PREDICTED_BY.get(audit.chosen, audit.chosen)
    size = len(audit.classes)
    return (
        "A last step for a classifier that is trained and frozen: it takes the classifier's logits, its outputs before "
        "softmax, and predicts the class in place of softmax. The classifier itself is not part of it, and does not "
        f"change. {escaped(described_head(audit))} It predicts by {escaped(by)}.\n\n"
        f"The {size:,} classes, in the order of the columns: {_named(audit.classes)}."
    )


def what_it_is_not_for(audit: Audit) -> Iterator[str]:
    """What nobody should use the head for, given what was measured."""
    yield (
        "The outputs of another model, or of this one after it was trained again: a head knows the logits of one "
        "model, with these columns in this order. It is not for probabilities if it was fitted on logits."
    )
    yield (
        "Samples that are unlike those it was measured on, such as those of another site, device or time. "
        "aftermax.check tells whether a head is still good."
    )
    if audit.chosen != "softmax":
        yield (
            "Other class proportions than those above. If they have changed, aftermax.adapt_priors adapts the head "
            "from unlabelled samples."
        )
    few = [one.name for one in audit.by_class if one.rows < FEW_SAMPLES]
    if few:
        yield (
            f"Claims about a class with fewer than {FEW_SAMPLES} labelled samples: {len(few):,} of the "
            f"{len(audit.classes):,} classes ({_named(few)})."
        )
    if not audit.verdict.startswith("Yes"):
        yield "The claim that it is better than the classifier alone: that is not proven here."
    if audit.abstention is None:
        yield "Deciding alone where an error is costly: it does not say which samples to leave to a person."


def how_to_load(audit: Audit) -> str:
    """Code that loads the head and predicts."""
    head = audit.head
    if not can_be_saved(head):
        return f"The head is of class {escaped(type(head).__name__)}, which aftermax does not save: ask who fitted it."
    fitted = fitted_head_of(head)
    takes_features = fitted is not None and fitted.uses_features
    code = CODE.format(features=", features=features" if takes_features else "", width=head.n_features_in_)
    notes = ["Loading executes nothing that is in the file: it is no pickle."]
    if takes_features:
        notes.append(f"The features have {head.features_width_:,} columns, as in the fit.")
    if getattr(head, "answer_format_", None) is not None:
        notes.append(
            "It was fitted on answers of a service: `aftermax.scores_from_top_k(answers, like=head)` reads more."
        )
    if audit.abstention is not None:
        notes.append("`head.is_certain` takes the same, and tells which samples are not for a person.")
    return f"{code}\n{' '.join(notes)}"


def _named(classes: Any) -> str:
    names = ", ".join(escaped(name) for name in list(classes)[:MAX_NAMED_CLASSES])
    others = len(classes) - MAX_NAMED_CLASSES
    return names if others <= 0 else f"{names} and {others:,} others"
