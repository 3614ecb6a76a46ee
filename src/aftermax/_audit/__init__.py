"""The audit: what a head would change, counted out-of-fold, and whether that is more than chance."""
