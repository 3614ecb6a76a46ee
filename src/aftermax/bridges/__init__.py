"""Fitted heads in PyTorch, Hugging Face, Keras and ONNX, on Dask and on Arrow data. Imported on use, with their extras."""
