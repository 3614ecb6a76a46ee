"""Fitted heads in PyTorch, Hugging Face, Keras and ONNX, on Dask and Arrow data; each needs its extra, when imported."""
