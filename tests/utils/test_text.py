"""Tables for the terminal."""

from aftermax._utils.text import aligned, width


def test_columns_are_aligned_also_where_characters_are_two_columns_wide():
    names = ["cat", "\u732b", "\uace0\uc591\uc774", "caf\u00e9", "cafe\u0301", "\uff21"]  # combined, and full width
    lines = aligned(["class", "errors"], [[name, "7"] for name in names], texts=1).splitlines()
    assert len({width(line) for line in lines}) == 1
    assert lines[1] == "cat          7"
    assert lines[2] == "\u732b           7"  # one letter of two columns in place of three of one
