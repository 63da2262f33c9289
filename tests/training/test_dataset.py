import io
import json
import pickle
import zipfile

import numpy as np
import pytest
import torch
from PIL import Image

from gantune.errors import CheckpointError, UsageError
from gantune.training.dataset import ImageDataset
from training_samples import write_dataset


def test_pictures_and_labels_come_as_stored(tmp_path):
    dataset = ImageDataset(write_dataset(tmp_path / "data.zip", count=5, size=8, channels=3), use_labels=True)
    pixels, labels = dataset[[4, 1]]
    expected = np.random.default_rng(0).integers(0, 256, (5, 8, 8, 3), dtype=np.uint8)
    assert (len(dataset), dataset.channels, dataset.resolution, dataset.label_dim) == (5, 3, 8, 3)
    assert torch.equal(pixels, torch.from_numpy(expected[[4, 1]].transpose(0, 3, 1, 2).copy()))
    assert labels.tolist() == [[0, 1, 0], [0, 1, 0]]


def test_the_mirrored_half_is_flipped(tmp_path):
    dataset = ImageDataset(write_dataset(tmp_path / "data.zip", count=5), mirror=True)
    pixels, _ = dataset[[2, 7]]
    assert len(dataset) == 10
    assert torch.equal(pixels[1], pixels[0].flip(2))


def test_a_folder_is_read_like_a_zip(tmp_path):
    archive = write_dataset(tmp_path / "data.zip", count=3)
    with zipfile.ZipFile(archive) as stored:
        stored.extractall(tmp_path / "folder")
    from_folder, from_zip = (
        ImageDataset(tmp_path / "folder", use_labels=True),
        ImageDataset(archive, use_labels=True),
    )
    assert torch.equal(from_folder[[0, 1, 2]][0], from_zip[[0, 1, 2]][0])
    assert torch.equal(from_folder.labels, from_zip.labels)


def test_a_copy_in_another_process_opens_the_file_for_itself(tmp_path):
    dataset = ImageDataset(write_dataset(tmp_path / "data.zip"))
    copy = pickle.loads(pickle.dumps(dataset))
    assert copy._archive is None
    assert torch.equal(copy[[3]][0], dataset[[3]][0])


def test_vectors_may_be_labels(tmp_path):
    path = write_dataset(tmp_path / "data.zip", count=1)
    with zipfile.ZipFile(path, "a") as archive, pytest.warns(UserWarning, match="Duplicate"):
        archive.writestr("dataset.json", json.dumps({"labels": [["00000/img00000000.png", [0.25, -1]]]}))
    assert ImageDataset(path, use_labels=True).labels.tolist() == [[0.25, -1]]


def test_labels_that_are_not_there_are_asked_for_in_vain(tmp_path):
    (tmp_path / "folder").mkdir()
    Image.new("L", (8, 8)).save(tmp_path / "folder" / "a.png")
    with pytest.raises(UsageError, match=r"has no dataset\.json"):
        ImageDataset(tmp_path / "folder", use_labels=True)


@pytest.mark.parametrize("labels", [None, [["other.png", 1]], [["00000/img00000000.png", -1]], [[1, 2, 3]]])
def test_labels_that_do_not_fit_are_refused(tmp_path, labels):
    path = tmp_path / "data.zip"
    stream = io.BytesIO()
    Image.new("L", (8, 8)).save(stream, format="PNG")
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("00000/img00000000.png", stream.getvalue())
        archive.writestr("dataset.json", json.dumps({"labels": labels}))
    with pytest.raises(CheckpointError, match=r"dataset\.json"):
        ImageDataset(path, use_labels=True)


def test_a_picture_of_another_size_is_named(tmp_path):
    for name, size in (("a.png", 8), ("b.png", 16)):
        Image.new("L", (size, size)).save(tmp_path / name)
    with pytest.raises(CheckpointError, match=r"b\.png .* has the shape \(1, 16, 16\)"):
        ImageDataset(tmp_path)[[0, 1]]


@pytest.mark.parametrize("content", [b"", b"no zip", b"PK\x03\x04 damaged"])
def test_what_is_no_data_set_is_refused(tmp_path, content):
    path = tmp_path / "data.zip"
    path.write_bytes(content)
    with pytest.raises(CheckpointError, match="neither a folder nor a readable ZIP"):
        ImageDataset(path)


def test_pictures_that_are_not_square_are_refused(tmp_path):
    Image.new("L", (16, 8)).save(tmp_path / "a.png")
    with pytest.raises(UsageError, match=r"a\.png in .* is 16×8; networks take square pictures"):
        ImageDataset(tmp_path)


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED], ids=["stored", "deflated"])
@pytest.mark.parametrize("share", [0.3, 0.6, 0.9])
def test_a_damaged_member_of_a_zip_is_named(tmp_path, method, share):
    path = tmp_path / "data.zip"
    pixels = np.random.default_rng(0).integers(0, 4, (32, 32), dtype=np.uint8)
    stream = io.BytesIO()
    # Without a compression of its own, so that the ZIP's is what breaks.
    Image.fromarray(pixels).save(stream, format="BMP")
    with zipfile.ZipFile(path, "w", method) as archive:
        archive.writestr("a.bmp", stream.getvalue())
        archive.writestr("b.bmp", stream.getvalue())
        _, second = archive.infolist()
    content = bytearray(path.read_bytes())
    middle = second.header_offset + int(share * second.compress_size)
    content[middle : middle + 20] = b"\xff" * 20
    path.write_bytes(content)
    dataset = ImageDataset(path)
    with pytest.raises(CheckpointError, match=r"^b\.bmp in .* is not a readable picture"):
        dataset[[1]]


@pytest.mark.parametrize("label", [100_000, [0.5, float("nan")]])
def test_a_label_beyond_reason_is_refused(tmp_path, label):
    Image.new("L", (8, 8)).save(tmp_path / "a.png")
    (tmp_path / "dataset.json").write_text(json.dumps({"labels": [["a.png", label]]}))
    with pytest.raises(CheckpointError, match="a class number from 0 to 99999, or a list of finite numbers"):
        ImageDataset(tmp_path, use_labels=True)


def test_the_fingerprint_is_that_of_names_and_contents(tmp_path):
    first = write_dataset(tmp_path / "first.zip", count=4)
    same = ImageDataset(write_dataset(tmp_path / "same.zip", count=4)).fingerprint()
    assert same == ImageDataset(first).fingerprint()
    fewer = ImageDataset(write_dataset(tmp_path / "fewer.zip", count=3)).fingerprint()
    other = ImageDataset(write_dataset(tmp_path / "other.zip", count=4, size=16)).fingerprint()
    relabeled = ImageDataset(write_dataset(tmp_path / "labels.zip", count=4, classes=2), use_labels=True)
    assert len({same, fewer, other, relabeled.fingerprint()}) == 4
    with zipfile.ZipFile(first) as stored:
        stored.extractall(tmp_path / "folder")
    folder = ImageDataset(tmp_path / "folder")
    before = folder.fingerprint()
    with (tmp_path / "folder" / "00000" / "img00000002.png").open("ab") as picture:
        picture.write(b"more")
    assert folder.fingerprint() != before


def test_a_damaged_picture_is_named(tmp_path):
    (tmp_path / "a.png").write_bytes(b"\x89PNG\r\n")
    with pytest.raises(CheckpointError, match=r"a\.png .* not a readable picture"):
        ImageDataset(tmp_path)
