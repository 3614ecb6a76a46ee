"""Reading a report in the browser, and an audit with hostile class names."""

import numpy as np
from sklearn.naive_bayes import GaussianNB

from aftermax import audit
from aftermax._utils.softmax import softmax
from helpers.samples import make_samples

PATIENCE = 60_000  # milliseconds, for machines that are busy
HOSTILE_NAMES = np.array(
    [
        "</script><script>document.title = 'broken in'</script>",
        '"><img src=x onerror="document.title = 1">',
        "<!-- </script / & &amp; $verdict ${data}",
        "mü \u2028 \u202e \ud800 \x1b[2J \x85 \u2066",
        "a very long name of a class, as they come in medicine: adenocarcinoma_of_the_oesophagogastric_junction" * 2,
    ]
)


def hostile_audit():
    logits, codes = make_samples(seed=1, n_samples=200)
    labels = HOSTILE_NAMES[codes]
    return audit(logits, labels, GaussianNB(), cv=2, classes=HOSTILE_NAMES), logits, labels


def certainties(logits):
    return softmax(np.asarray(logits, dtype=float)).max(axis=1)


def cells(page, table):
    """The text of each cell of a table's body."""
    return page.eval_on_selector_all(
        f"#{table} tbody tr", "rows => rows.map(row => [...row.cells].map(cell => cell.textContent))"
    )


def number(text):
    return float(text.replace(",", ""))


def tooltip_of(page, chart, *, empty=False, other_than=""):
    """The text of a chart's tooltip, as soon as it is there, or gone."""
    condition = "text === ''" if empty else "text !== '' && text !== other"
    read = f"document.querySelector('#{chart} .tooltip').textContent"
    page.wait_for_function(f"other => {{ const text = {read}; return {condition}; }}", arg=other_than)
    return page.locator(f"#{chart} .tooltip").text_content()
