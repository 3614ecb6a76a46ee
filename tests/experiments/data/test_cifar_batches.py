"""The pickled batches of CIFAR-10 and CIFAR-100: read with care, and nothing in them is ever run."""

import os
import pickle

import numpy as np
import pytest

from experiments.data.cifar10 import FORMAT
from experiments.data.cifar_batches import read_batch

SAMPLES = 4


class Calls:
    """Pickled, an order to call something."""

    def __init__(self, function, *arguments):
        self.order = function, arguments

    def __reduce__(self):
        return self.order


def made_batch(seed=0, samples=SAMPLES):
    rng = np.random.default_rng(seed)
    return {
        b"data": rng.integers(256, size=(samples, 3072), dtype=np.uint8),
        b"labels": rng.integers(10, size=samples).tolist(),
    }


def read(path):
    images, [labels] = read_batch(path, FORMAT, SAMPLES)
    return images, labels


@pytest.mark.parametrize("protocol", [2, 3])
@pytest.mark.parametrize("module", [b"numpy.core.multiarray", b"numpy._core.multiarray"])
def test_batches_are_read_whichever_numpy_wrote_them(tmp_path, protocol, module):
    content = pickle.dumps(made_batch(), protocol)
    path = tmp_path / "batch"
    path.write_bytes(content.replace(b"cnumpy._core.multiarray\n", b"c" + module + b"\n"))
    images, labels = read(path)
    np.testing.assert_array_equal(np.rint(255 * images).reshape(SAMPLES, -1), made_batch()[b"data"].astype(float))
    np.testing.assert_array_equal(labels, made_batch()[b"labels"])


def test_a_batch_that_python_2_wrote_is_read(tmp_path):
    """As the original files are: strings are bytes, and an array's content is a string."""
    pixels, labels = made_batch().values()
    state = (
        b"(K\x01(K\x04M\x00\x0ct"
        + b"cnumpy\ndtype\n(U\x02u1K\x00K\x01tR(K\x03U\x01|NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb"
    )
    state += b"\x89T" + len(pixels.tobytes()).to_bytes(4, "little") + pixels.tobytes() + b"tb"
    array = b"cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\n(K\x00tU\x01btR" + state
    numbers = b"](" + b"".join(b"K" + bytes([label]) for label in labels) + b"e"
    (tmp_path / "batch").write_bytes(b"\x80\x02}(U\x04data" + array + b"U\x06labels" + numbers + b"u.")
    images, found = read(tmp_path / "batch")
    np.testing.assert_array_equal(np.rint(255 * images).reshape(SAMPLES, -1), pixels.astype(float))
    np.testing.assert_array_equal(found, labels)


# ---- files that are not to be trusted --------------------------------------------------------------------------------


@pytest.mark.parametrize("protocol", [0, 2, 4])
def test_a_pickle_that_would_run_something_is_refused_and_runs_nothing(tmp_path, protocol):
    ran = tmp_path / "ran"
    path = tmp_path / "batch"
    path.write_bytes(pickle.dumps(made_batch() | {b"more": Calls(os.system, f"touch {ran}")}, protocol))
    with pytest.raises(ValueError, match=r"batch is damaged .*it asks for \w+\.system, .*was not run\): get .* again"):
        read(path)
    assert not ran.exists()
    pickle.loads(path.read_bytes())
    assert ran.exists()  # so it would have


@pytest.mark.parametrize("function", [eval, getattr, __import__, np.load, np.memmap])
def test_nothing_is_to_be_had_by_way_of_python_or_numpy(tmp_path, function):
    (tmp_path / "batch").write_bytes(pickle.dumps(Calls(function, "x"), protocol=2))
    with pytest.raises(ValueError, match=rf"it asks for .*{function.__name__}"):
        read(tmp_path / "batch")


@pytest.mark.parametrize("array", [np.zeros((4, 3072), dtype=np.float32), np.array([[b"x"]], dtype=object)])
def test_arrays_of_anything_but_bytes_are_refused(tmp_path, array):
    (tmp_path / "batch").write_bytes(pickle.dumps(made_batch() | {b"data": array}, protocol=2))
    with pytest.raises(ValueError, match=r"it holds an array of type .*, not of bytes"):
        read(tmp_path / "batch")


def test_a_truncated_batch_is_named_wherever_it_ends(tmp_path):
    content = pickle.dumps(made_batch(), protocol=2)
    for end in (0, 1, 10, 60, 100, len(content) // 2, len(content) - 1):
        (tmp_path / "batch").write_bytes(content[:end])
        with pytest.raises(ValueError, match=r"batch is damaged or no batch of CIFAR-10 \(.*\): get .* again"):
            read(tmp_path / "batch")


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({b"data": np.zeros((3, 3072), dtype=np.uint8)}, r"images have shape \(3, 3072\) where .* has \(4, 3072\)"),
        ({b"data": np.zeros((4, 1024), dtype=np.uint8)}, r"images have shape \(4, 1024\)"),
        ({b"data": [1, 2]}, r"images are list, not an array"),
        ({b"labels": [1, 2, 3]}, r"labels are no list of 4 whole numbers"),
        ({b"labels": [1, 2, 3, "4"]}, r"labels are no list of 4 whole numbers"),
        ({b"labels": [1, 2, 3, 10]}, r"labels run from 1 to 10, not from 0 to 9"),
    ],
)
def test_what_is_no_batch_of_cifar10_says_why(tmp_path, change, complaint):
    (tmp_path / "batch").write_bytes(pickle.dumps(made_batch() | change, protocol=2))
    with pytest.raises(ValueError, match=rf"batch is damaged or no batch of CIFAR-10 \(its {complaint}"):
        read(tmp_path / "batch")


def test_another_pickle_is_named(tmp_path):
    (tmp_path / "batch").write_bytes(pickle.dumps({b"fine_labels": []}, protocol=2))
    with pytest.raises(ValueError, match=r"batch is damaged or no batch of CIFAR-10 \(no b'data'\)"):
        read(tmp_path / "batch")
