"""The model card: what it says, and that no class name is taken for markup, by any kind of Markdown."""

import html
import re
from dataclasses import replace

import markdown
import numpy as np
import pytest
import yaml
from huggingface_hub import ModelCard
from markdown_it import MarkdownIt
from sklearn.naive_bayes import GaussianNB

import aftermax
from aftermax import AutoHead, Decider, SPHClassifier, SPHClassifierCV, audit
from aftermax._utils.text import fewer, fewer_between, fewer_count, percent, shortened, visible
from aftermax.report import model_card, write_card
from aftermax.report._card import MAX_LETTERS, MAX_LISTED_CLASSES
from aftermax.report._markdown import escaped
from helpers.audits import made_up_audit
from helpers.report_pages import HOSTILE_NAMES
from helpers.samples import make_samples
from helpers.thousands import audited_characters

HOSTILE_MARKDOWN = np.array(
    [
        *HOSTILE_NAMES[:4].tolist(),
        "a|b||c",
        "`code` ``` ~~~ ~~gone~~",
        "[text](https://example.com) ![picture](x.png) [^1] [x]: y",
        "**bold** _italic_ new_york __x__ \\* \\| C# $x$",
        "# heading\n\n---\n- item\r\n| a | b |",
        "&lt;b&gt; &#124; <https://example.com>",
        "http://auto.link, www.a.com. (Www.b.com)*ftp://c.d",
        "a@b.c|x_y@z.org. mailto:a+b@c-d.e @user",
    ]
)

OWN_TAGS = {"h1", "h2", "p", "strong", "em", "table", "thead", "tbody", "tr", "th", "td", "ul", "li", "code"}


def section(card, heading):
    """The text of a section, without its heading."""
    return re.search(rf"^## {heading}\n\n(.*?)(?=\n\n## |\Z)", card, flags=re.DOTALL | re.MULTILINE)[1]


def cells(text):
    """The cells of the first table, without its heading and its rule."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    return [line.strip("| ").split(" | ") for line in lines[2:]]


def commonmark(text):
    return MarkdownIt("commonmark").enable("table").render(text)


def python_markdown(text):
    return markdown.markdown(text, extensions=["tables", "fenced_code"])


@pytest.fixture(scope="module")
def hostile():
    logits, codes = make_samples(seed=1, n_samples=300, n_classes=len(HOSTILE_MARKDOWN))
    return audit(logits, HOSTILE_MARKDOWN[codes], GaussianNB(), cv=2, classes=HOSTILE_MARKDOWN)


# ---- what it says ----------------------------------------------------------------------------------------------------


def test_the_verdict_comes_first_and_every_figure_is_the_audits(digits):
    found, *_ = digits
    card = model_card(found, title="Digits")
    headed, verdict = re.search(r"\n# (.*)\n\n(.*)\n", card).groups()
    assert headed == "Digits"
    assert verdict.replace("**", "").replace("&lt;", "<") == found.verdict
    figures = {line[0]: line[1].replace("&lt;", "<") for line in cells(section(card, "What was measured"))}
    assert figures["Samples"] == "400"
    assert figures["Errors before (softmax)"] == f"{found.errors[0]} ({percent(found.error_before)})"
    assert figures["Errors after (the head, out-of-fold)"] == f"{found.errors[1]} ({percent(found.error_after)})"
    assert figures["Gain to expect: change in errors, relative to softmax's"] == fewer(found.gain)
    assert figures["95 % interval of the true gain"] == fewer_between(*found.gain_interval)
    p_value = f"{found.p_value:.2g}" if found.p_value >= 0.0001 else "< 0.0001"
    assert figures["p-value of the claim that errors are fewer, one-sided"] == p_value


def test_classes_are_listed_by_the_size_of_their_change_and_so_are_all_candidates(digits):
    found, *_ = digits
    lines = cells(section(model_card(found), "By class"))
    assert sorted(lines) == sorted(
        [
            *map(str, one[:3]),
            str(one.errors - one.wins + one.losses),
            fewer_count(one.net),
            *map(percent, one.recall),
        ]
        for one in found.by_class
    )
    sizes = [int(line[4].split()[0].replace("as", "0")) for line in lines]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] > 0
    names = [line[0] for line in cells(section(model_card(found), "Candidates"))]
    assert names == [f"{name} (chosen)" if name == found.candidates.chosen else name for name in found.candidates]


def test_of_thousands_of_classes_those_that_change_most_are_listed_and_the_others_summed():
    found, *_ = audited_characters()
    card = model_card(found)
    lines = cells(section(card, "By class"))
    assert len(lines) == MAX_LISTED_CLASSES + 1
    assert lines[-1][0] == f"{len(found.classes) - MAX_LISTED_CLASSES:,} others"
    assert sum(int(line[2].replace(",", "")) for line in lines) == found.errors[0]
    assert any(line[4].endswith("more") for line in lines[:-1])
    assert len(card) < 12_000


def test_warnings_rare_classes_and_what_is_not_proven_are_told():
    found = replace(made_up_audit(3, 2, 100), warnings=("Labels <b>look</b> shuffled.",), head=GaussianNB())
    found = replace(found, by_class=(found.by_class[0], found.by_class[1]._replace(rows=9)))
    card = model_card(found)
    assert "\n**Warning:** Labels &lt;b&gt;look&lt;/b&gt; shuffled.\n" in card
    limits = section(card, "What it is not for")
    assert "1 of the 2 classes (1)." in limits
    assert "that is not proven here" in limits
    proven = section(model_card(replace(found, proven=True)), "What it is not for")
    assert "not proven" not in proven


def test_softmax_that_is_kept_assumes_no_class_proportions(digits):
    found, *_ = digits
    assert section(model_card(found), "Class proportions").startswith("This assumes that classes will be as frequent")
    kept = model_card(replace(found, chosen="softmax"))
    assert "Class proportions" not in kept
    assert "Other class proportions" not in kept
    assert "It keeps softmax." in kept


def test_the_same_audit_gives_the_same_card_without_paths_or_dates(digits):
    found, *_ = digits
    card = model_card(found)
    assert card == model_card(found)
    assert card.endswith("\n")
    assert not re.search(r"20\d\d-\d\d|/home|/work|/tmp", card)


def test_hugging_face_reads_the_front_matter_and_it_claims_nothing_else(digits):
    found, *_ = digits
    card = ModelCard(model_card(found, title="--- name: x ---\n---\nlicense: mit"))
    assert card.data.to_dict() == {"library_name": "aftermax", "tags": ["aftermax", "classification"]}
    assert yaml.safe_load(card.data.to_yaml()) == card.data.to_dict()


# ---- how to load the head --------------------------------------------------------------------------------------------


def run_the_code(card, head, folder, monkeypatch, **inputs):
    """What the code of the card predicts, in a folder with the head."""
    monkeypatch.chdir(folder)
    aftermax.save(head, "head.npz")
    exec(re.search(r"```python\n(.*?)```", card, flags=re.DOTALL)[1], inputs)
    return inputs["predictions"], inputs["probabilities"]


def test_the_code_of_the_card_loads_the_head_and_predicts(digits, tmp_path, monkeypatch):
    found, logits, _ = digits
    predictions, probabilities = run_the_code(model_card(found), found.head, tmp_path, monkeypatch, logits=logits)
    assert np.array_equal(predictions, found.head.predict(logits))
    assert np.array_equal(probabilities, found.head.predict_proba(logits))


def test_a_head_with_features_is_told_so(tmp_path, monkeypatch):
    random = np.random.default_rng(0)
    labels = random.integers(0, 3, 240)
    features = np.eye(3)[labels] + 0.1 * random.normal(size=(240, 3))
    logits = random.normal(size=(240, 3)) + 0.5 * np.eye(3)[labels]
    found = audit(logits, labels, features=features)
    card = model_card(found)
    predictions, _ = run_the_code(card, found.head, tmp_path, monkeypatch, logits=logits, features=features)
    assert np.array_equal(predictions, found.head.predict(logits, features=features))
    assert "The features have 3 columns" in card


def test_what_a_decider_leaves_to_a_person_is_told(digits):
    _, logits, labels = digits
    found = audit(logits, labels, Decider(SPHClassifierCV({"certainty": [0.6]}, cv=2), max_error=0.2))
    card = model_card(found)
    assert found.abstention.sentence[1:].split("%")[0] in card
    assert "`head.is_certain`" in card
    assert "leave to a person." not in section(card, "What it is not for")


def test_a_head_that_was_fitted_on_answers_tells_how_to_read_more():
    answers = [{"cat": 0.6, "dog": 0.3}, {"dog": 0.7, "cat": 0.2}] * 30
    found = audit(aftermax.scores_from_top_k(answers), ["cat", "dog"] * 25 + ["dog", "dog"] * 5, AutoHead(cv=2))
    assert "`aftermax.scores_from_top_k(answers, like=head)`" in model_card(found)


def test_a_head_that_aftermax_does_not_save_is_told(animals):
    found, *_ = animals
    card = model_card(found)
    assert "The head is of class GaussianNB, which aftermax does not save" in card
    assert "```" not in card


# ---- foreign text ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("render", [commonmark, python_markdown])
def test_names_are_shown_as_they_are_and_no_markup_is_theirs(hostile, render):
    title = "<i>title</i> | *x* `y`\n# z"
    page = render(model_card(hostile, title=title).split("---\n", 2)[2])
    assert set(re.findall(r"<(\w+)", page)) <= OWN_TAGS
    assert "href" not in page
    first = re.findall(r"<tr>\s*<td[^>]*>(.*?)</td>", page, flags=re.DOTALL)
    names = {visible(shortened(name, MAX_LETTERS)) for name in HOSTILE_MARKDOWN.tolist()}
    assert names <= {html.unescape(re.sub("</?code>", "", cell)) for cell in first}
    assert html.unescape(re.search(r"<h1>(.*?)</h1>", page)[1]) == visible(title)
    assert page.count("<h1>") == 1


@pytest.mark.parametrize("render", [commonmark, python_markdown])
def test_no_address_in_a_name_is_where_any_markdown_would_make_a_link_of_it(hostile, render):
    page = render(model_card(hostile, title="https://a.b and c@d.e").split("---\n", 2)[2])
    texts = map(html.unescape, re.split(r"<code>.*?</code>|<[^>]*>", page, flags=re.DOTALL))
    assert not [text for text in texts if re.search(r"(?i)(https?|ftp)://|www\.|[\w.+-]@[\w.-]", text)]


def test_an_address_ends_before_the_full_stop_of_a_sentence_and_at_markup():
    assert escaped("Better for: www.a.com, x@y.z.") == "Better for: `www.a.com`, `x@y.z`."
    assert escaped("http://a|b*c@d") == "`http://a`&#124;b&#42;`c@d`"
    assert escaped("error/rate = 3 @user") == "error/rate = 3 @user"


@pytest.mark.parametrize("text", ["." * 300_000, "a@" * 100_000, "www." * 100_000, "w" * 300_000, "a." * 100_000 + ":"])
def test_long_names_are_escaped_in_time_in_proportion_to_them(text):
    assert escaped(text).replace("`", "") == text


def test_the_tables_have_as_many_cells_in_each_line_whatever_the_names(hostile):
    lines = [line for line in model_card(hostile).splitlines() if line.startswith("|")]
    assert {line.count("|") for line in lines} == {3, 8}
    assert len(lines) > len(HOSTILE_MARKDOWN)


# ---- the file --------------------------------------------------------------------------------------------------------


def test_the_card_is_written_completely_or_not_at_all(animals, tmp_path, monkeypatch):
    found, *_ = animals
    path = tmp_path / "card.md"
    write_card(path, found, title="Animals")
    assert path.read_text(encoding="utf-8") == model_card(found, title="Animals")
    before = path.read_bytes()

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", full)
    with pytest.raises(OSError, match="No space left"):
        write_card(path, found)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_what_is_no_audit_is_refused_and_so_is_a_folder_that_is_not_there(animals, tmp_path):
    with pytest.raises(TypeError, match=r"takes an Audit, not SPHClassifier: pass the result of aftermax.audit"):
        model_card(SPHClassifier())
    with pytest.raises(FileNotFoundError, match=r"folder .*new is not there"):
        write_card(tmp_path / "new" / "card.md", animals[0])
