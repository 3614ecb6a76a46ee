"""Fitted heads in PyTorch, Hugging Face, Keras and ONNX, on Dask and on Arrow data. Modules are imported on use."""
