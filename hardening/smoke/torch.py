"""A network with a head after it, which predicts as the head does in Python, also from a state_dict."""

import torch

import aftermax
from aftermax.bridges.torch import Head, collect_logits
from aftermax.data import load_vmnist

scores = load_vmnist(trained_on=100)
val, labels, test = map(torch.from_numpy, (scores.val_logits[:500], scores.val_labels[:500], scores.test_logits))
network = torch.nn.Linear(10, 10, bias=False)  # one that passes logits on stands for a network
torch.nn.init.eye_(network.weight)
collected = collect_logits(network, [(val, labels)])
head = aftermax.fit(collected.logits, collected.labels)
shipped = torch.nn.Sequential(network, Head.from_fitted(head)).eval()
torch.save(shipped.state_dict(), "shipped.pt")
shipped.load_state_dict(torch.load("shipped.pt", weights_only=True))
with torch.no_grad():
    predicted = shipped(test).argmax(dim=1).numpy()
assert (head.classes_[predicted] == head.predict(scores.test_logits)).all()
