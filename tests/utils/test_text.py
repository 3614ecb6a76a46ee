"""Tables for the terminal."""

import json

from aftermax._utils.text import aligned, escaped_controls, shortened, visible, visible_lines, width


def test_columns_are_aligned_also_where_characters_are_two_columns_wide():
    names = ["cat", "\u732b", "\uace0\uc591\uc774", "caf\u00e9", "cafe\u0301", "\uff21"]  # combined, and full width
    lines = aligned(["class", "errors"], [[name, "7"] for name in names], texts=1).splitlines()
    assert len({width(line) for line in lines}) == 1
    assert lines[1] == "cat          7"
    assert lines[2] == "\u732b           7"  # one letter of two columns in place of three of one


def test_text_for_a_terminal_keeps_letters_of_every_script_and_escapes_controls():
    assert visible("cat, \u732b, caf\u00e9, \u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645") == (
        "cat, \u732b, caf\u00e9, \u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645"
    )
    assert visible("a\x00b\x1bc\td\ne\x7f\x9b\u202e\u2066\u2028") == (
        "a\\x00b\\x1bc\\td\\ne\\x7f\\x9b\\u202e\\u2066\\u2028"
    )
    assert visible_lines("a\nb\r") == "a\nb\\r"
    assert aligned(["class"], [["a\nb"]], texts=1) == "class\na\\nb"


def test_json_without_controls_means_the_same():
    text = json.dumps({"a\u202e": "\x9b\x00"}, indent=1, ensure_ascii=False)
    assert all(letter.isprintable() or letter == "\n" for letter in escaped_controls(text))
    assert json.loads(escaped_controls(text)) == json.loads(text)


def test_long_text_is_cut():
    assert shortened("abc", 3) == "abc"
    assert shortened("a" * 2000, 3) == "aaa... (2,000 characters)"
