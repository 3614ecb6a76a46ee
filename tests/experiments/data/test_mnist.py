"""MNIST, from files and from OpenML."""

import gzip
import hashlib
import json
import struct

import numpy as np
import pytest

from experiments.data import mnist as mnist_module
from experiments.data.mnist import MNIST_PARTS, Part, load_mnist, read_idx


def idx(array):
    return struct.pack(f">HBB{array.ndim}I", 0, 8, array.ndim, *array.shape) + array.tobytes()


def test_idx_files_are_read_gzipped_or_not(tmp_path):
    array = np.arange(24, dtype=np.uint8).reshape(2, 3, 4)
    (tmp_path / "plain").write_bytes(idx(array))
    (tmp_path / "packed").write_bytes(gzip.compress(idx(array)))
    np.testing.assert_array_equal(read_idx(tmp_path / "plain"), array)
    np.testing.assert_array_equal(read_idx(tmp_path / "packed"), array)


@pytest.mark.parametrize("damage", [b"", b"\x00\x00\x08", b"\x1f\x8b\x08 cut", b"\x00\x00\x0d\x01\x00\x00\x00\x01\x05"])
def test_damaged_files_are_named(tmp_path, damage):
    (tmp_path / "file").write_bytes(damage)
    with pytest.raises(ValueError, match=r"file is damaged or not an IDX file .*: get it again"):
        read_idx(tmp_path / "file")


def test_a_truncated_file_is_named(tmp_path):
    (tmp_path / "file").write_bytes(gzip.compress(idx(np.zeros((5, 5), dtype=np.uint8)))[:-12])
    with pytest.raises(ValueError, match=r"file is damaged"):
        read_idx(tmp_path / "file")


def test_a_file_with_one_byte_changed_is_named_wherever_it_is(tmp_path):
    content = gzip.compress(idx(np.random.default_rng(0).integers(9, size=(20, 20), dtype=np.uint8)))
    for place in range(12, len(content), 7):
        (tmp_path / "file").write_bytes(content[:place] + bytes([content[place] ^ 0xFF]) + content[place + 1 :])
        with pytest.raises(ValueError, match=r"file is damaged or not an IDX file"):
            read_idx(tmp_path / "file")


def test_missing_or_wrong_mnist_says_what_to_do(tmp_path, monkeypatch):
    with pytest.raises(FileNotFoundError, match=r"MNIST is not in .*Put the four original IDX files.*AFTERMAX_DATA"):
        load_mnist(tmp_path)
    (tmp_path / "train-images-idx3-ubyte").write_bytes(idx(np.zeros((3, 28, 28), dtype=np.uint8)))
    with pytest.raises(ValueError, match=r"shape \(3, 28, 28\) where MNIST has \(60000, 28, 28\)"):
        load_mnist(tmp_path)
    monkeypatch.setenv("AFTERMAX_DATA", str(tmp_path))
    with pytest.raises(ValueError, match=r"shape \(3, 28, 28\)"):
        load_mnist()
    with pytest.raises(FileNotFoundError, match=r"MNIST is not in .*given"):
        load_mnist(tmp_path / "given")


def test_other_images_of_the_right_shape_are_not_mnist(tmp_path):
    for part in MNIST_PARTS.values():
        (tmp_path / part.file).write_bytes(idx(np.zeros(part.shape, dtype=np.uint8)))
    with pytest.raises(ValueError, match=r"train-images-idx3-ubyte is not MNIST's: its checksum differs"):
        load_mnist(tmp_path)


def test_mnist_is_read_as_flat_arrays_of_numbers_from_0_to_1(shared):
    mnist = load_mnist(shared / "data")
    assert [part.shape for part in mnist] == [(60_000, 784), (60_000,), (10_000, 784), (10_000,)]
    assert [str(part.dtype) for part in mnist] == ["float32", "int64", "float32", "int64"]
    assert (mnist.train_images.min(), mnist.train_images.max()) == (0.0, 1.0)
    np.testing.assert_array_equal(
        np.bincount(mnist.test_labels), [980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009]
    )


# ---- OpenML: scikit-learn's own reader on scikit-learn's own cache, with no network ----------------------------------


@pytest.fixture
def openml(tmp_path, monkeypatch):
    """Five images at OpenML, as scikit-learn would have kept them, three of them to train on."""
    rng = np.random.default_rng(0)
    images, labels = rng.integers(256, size=(5, 784), dtype=np.uint8), np.array([5, 0, 4, 1, 9], dtype=np.uint8)
    columns = [f"pixel{number}" for number in range(1, 785)]
    header = "".join(f"@ATTRIBUTE {name} real\n" for name in columns) + "@ATTRIBUTE class {0,1,2,3,4,5,6,7,8,9}\n"
    rows = "\n".join(",".join(map(str, [*image, label])) for image, label in zip(images, labels, strict=True))
    arff = f"@RELATION mnist_784\n{header}@DATA\n{rows}\n".encode()
    common = {"is_ignore": "false", "is_row_identifier": "false", "number_of_missing_values": "0"}
    features = [{"name": name, "data_type": "numeric", "is_target": "false", **common} for name in columns]
    features.append({"name": "class", "data_type": "nominal", "is_target": "true", **common})
    about = {"id": "554", "name": "mnist_784", "version": "1", "format": "ARFF", "status": "active", "description": ""}
    about |= {"default_target_attribute": "class", "file_id": "1", "md5_checksum": hashlib.md5(arff).hexdigest()}
    about["url"] = "https://www.openml.org/data/v1/download/1/mnist_784.arff"
    listed = {"did": 554, "name": "mnist_784", "version": 1, "status": "active", "format": "ARFF"}
    pages = {
        "api/v1/json/data/list/data_name/mnist_784/limit/2/data_version/1": {"data": {"dataset": [listed]}},
        "api/v1/json/data/554": {"data_set_description": about},
        "api/v1/json/data/features/554": {"data_features": {"feature": features}},
        "api/v1/json/data/qualities/554": {"data_qualities": {"quality": []}},
    }
    contents = {page: json.dumps(answer).encode() for page, answer in pages.items()}
    for page, content in (contents | {"data/v1/download/1/mnist_784.arff": arff}).items():
        path = tmp_path / "home" / "openml" / "openml.org" / f"{page}.gz"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(gzip.compress(content))
    monkeypatch.setenv("SCIKIT_LEARN_DATA", str(tmp_path / "home"))
    monkeypatch.delenv("AFTERMAX_DATA", raising=False)
    monkeypatch.chdir(tmp_path)
    shaped = images.reshape(-1, 28, 28)
    parts = {
        "train_images": shaped[:3],
        "train_labels": labels[:3],
        "test_images": shaped[3:],
        "test_labels": labels[3:],
    }
    small = {
        name: Part(MNIST_PARTS[name].file, array.shape, hashlib.sha256(array.tobytes()).hexdigest())
        for name, array in parts.items()
    }
    monkeypatch.setattr(mnist_module, "MNIST_PARTS", small)
    return images, labels


def test_mnist_comes_from_openml_where_there_are_no_files(openml):
    images, labels = openml
    mnist = load_mnist()
    np.testing.assert_array_equal(np.concatenate([mnist.train_labels, mnist.test_labels]), labels)
    np.testing.assert_allclose(np.concatenate([mnist.train_images, mnist.test_images]), images / 255, rtol=1e-6)


def test_what_comes_from_openml_is_checked(openml, monkeypatch):
    wrong = mnist_module.MNIST_PARTS | {"test_labels": mnist_module.MNIST_PARTS["test_labels"]._replace(checksum="0")}
    monkeypatch.setattr(mnist_module, "MNIST_PARTS", wrong)
    with pytest.raises(ValueError, match=r"OpenML's mnist_784 is not MNIST's: its checksum differs"):
        load_mnist()


def test_without_files_and_without_a_network_the_error_says_where_to_get_mnist(tmp_path, monkeypatch):
    from urllib.error import URLError

    def no_network(*_, **__):
        raise URLError("no network")

    monkeypatch.setattr("sklearn.datasets._openml.urlopen", no_network)
    monkeypatch.setattr("sklearn.datasets._openml.time.sleep", lambda _: None)
    monkeypatch.setenv("SCIKIT_LEARN_DATA", str(tmp_path))
    monkeypatch.delenv("AFTERMAX_DATA", raising=False)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(
        FileNotFoundError, match=r"could not be fetched from openml.org .*Put the four original IDX files"
    ):
        load_mnist()
