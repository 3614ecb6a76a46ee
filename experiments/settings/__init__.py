"""How much depends on the training recipe of the networks, and on how the hyperparameters of SPH are selected."""
