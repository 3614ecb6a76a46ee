"""Fitted heads in PyTorch, Hugging Face, Keras and ONNX. Each module needs the extra of its name; imported on use."""
