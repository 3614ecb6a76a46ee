"""A loss that uses D: networks trained with the cross-entropy of pooled scores."""
