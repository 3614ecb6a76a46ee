"""Heads for where models run: PyTorch, Keras, ONNX. Each file needs the extra of its name and is imported on use."""
