"""Head files: saved and loaded without pickle."""
