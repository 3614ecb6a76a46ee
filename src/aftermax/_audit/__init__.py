"""The audit: what a head would change, counted out-of-fold."""
