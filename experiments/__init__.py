"""The experiments: ``python -m experiments --help``. They need a clone of the repository and the ``experiments`` extra."""
