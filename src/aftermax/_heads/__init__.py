"""The fitted head: what every kind of head has in common, from its predictions to its export."""
