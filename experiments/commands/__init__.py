"""The commands of ``python -m experiments``. Nothing heavy is imported before a command runs."""

from importlib import import_module

from experiments.commands.app import app

__all__ = ["app"]

for module in ("paper", "benchmark", "promises", "shipped_models"):  # in the order of the help
    import_module(f"experiments.commands.{module}")
