"""``python -m aftermax``: the ``aftermax`` command."""

from aftermax._cli import script

if __name__ == "__main__":
    script()
