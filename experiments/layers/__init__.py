"""Do inner layers help? AutoHead with none, one and two of a network's hidden layers."""
