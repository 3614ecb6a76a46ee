"""What unlabelled samples alone can give a frozen classifier."""
