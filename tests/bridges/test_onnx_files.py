"""ONNX networks that are read from files, and files and networks that are refused."""

import numpy as np
import onnx
import pytest

from aftermax.bridges.onnx import agreement, attach
from helpers.onnx_models import small_network


def test_files_that_are_not_models_are_refused(sph, tmp_path):
    path = tmp_path / "network.onnx"
    onnx.save(small_network(np.eye(10)), path)
    with pytest.raises(ValueError, match="is the network's own file: choose another path"):
        attach(path, sph, tmp_path / "." / "network.onnx")
    whole = path.read_bytes()
    for content in (whole[:-100], b"not a model", b""):
        path.write_bytes(content)
        with pytest.raises(ValueError, match="is not an ONNX model"):
            attach(path, sph, tmp_path / "out.onnx")
    with pytest.raises(FileNotFoundError, match=r"none\.onnx"):
        attach(tmp_path / "none.onnx", sph)
    with pytest.raises(
        TypeError, match=r"model must be the path of an \.onnx file or a model from onnx\.load, got dict"
    ):
        attach({}, sph)
    with pytest.raises(TypeError, match=r"head is a path: load it first, aftermax.load\('head.npz'\)"):
        attach(path, "head.npz")
    assert [entry.name for entry in tmp_path.iterdir()] == ["network.onnx"]


def test_weights_in_separate_files_are_read(sph, tmp_path, logits):
    path = tmp_path / "network.onnx"
    onnx.save(small_network(np.eye(10)), path, save_as_external_data=True, location="weights", size_threshold=0)
    model = attach(str(path), sph, tmp_path / "out.onnx")
    (tmp_path / "weights").unlink()
    assert agreement(tmp_path / "out.onnx", sph, logits[:50], inputs=logits[:50]).same == 50
    assert agreement(model, sph, logits[:50], inputs=logits[:50]).same == 50
    with pytest.raises(ValueError, match=r"weights, in files next to .*network.onnx, cannot be read"):
        attach(path, sph)
    with pytest.raises(ValueError, match=r"does not name its folder: pass the path of the \.onnx file"):
        attach(onnx.load(path, load_external_data=False), sph)


def test_a_network_that_is_too_large_for_a_single_file_is_refused(sph, tmp_path):
    path = tmp_path / "network.onnx"
    network = small_network(np.eye(10))
    onnx.save(network, path, save_as_external_data=True, location="weights", size_threshold=0)
    network = onnx.load(path, load_external_data=False)
    network.graph.initializer[0].dims[:] = [80_000_000, 10]
    path.write_bytes(network.SerializeToString())
    with pytest.raises(
        ValueError, match=r"has 3.2 GB, and an ONNX model in a single file can have at most 2 GB: export the head"
    ):
        attach(path, sph)


def test_a_network_that_cannot_be_converted_is_refused(sph):
    network = small_network(np.eye(10), opset=12)
    network.graph.node[0].op_type = "Unknown"
    with pytest.raises(ValueError, match="has opset 12 and cannot be converted to 13, which the head needs: export it"):
        attach(network, sph)
    network.opset_import[0].version = 13
    with pytest.raises(ValueError, match=r"The network with the head is not a valid ONNX model: .*Unknown"):
        attach(network, sph)
