"""Fitted heads in PyTorch, Keras and ONNX. Each module needs the extra of the same name and is imported on use."""
