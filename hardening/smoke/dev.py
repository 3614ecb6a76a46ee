"""The tools of the developers start."""

import subprocess
import sys

import duckdb
import lightgbm
import mapie
import onnxscript
import playwright
import polars
import probmetrics
import skl2onnx
import skorch

for tool in ("mypy", "pre_commit", "pytest", "ruff"):
    subprocess.run([sys.executable, "-m", tool, "--version"], check=True)
assert all((duckdb, lightgbm, mapie, onnxscript, playwright, polars, probmetrics, skl2onnx, skorch))
