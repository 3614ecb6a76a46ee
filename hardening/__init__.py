"""What may go wrong outside the tests: hostile input, load, kills, installs. ``python -m hardening``."""
