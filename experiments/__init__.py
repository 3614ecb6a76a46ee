"""The experiments: ``python -m experiments --help``. They need a clone and the ``experiments`` extra."""
