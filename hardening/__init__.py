"""Hardening: how the package stands what it should never meet. ``python -m hardening`` writes results/hardening."""
