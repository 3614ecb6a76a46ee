"""What the commands print."""

import pytest

from aftermax._cli import output
from aftermax._utils import compiled


@pytest.mark.parametrize(
    ("cached", "printed"),
    [(False, "aftermax: the first run on a machine compiles code, which may take a minute.\n"), (True, "")],
)
def test_the_first_run_announces_that_it_compiles(monkeypatch, capsys, cached, printed):
    monkeypatch.setattr(compiled, "is_cached", lambda function: cached)
    output.announce_compilation()
    assert capsys.readouterr().err == printed


def test_json_has_no_nan():
    with pytest.raises(ValueError, match="not JSON compliant"):
        output.print_json({"gain": float("nan")})
