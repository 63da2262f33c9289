from pathlib import Path

import pytest

from artifact_samples import write_onnx_artifact
from gantune.errors import CheckpointError, StorageError
from gantune.runtime import describe_files, read_artifact, write_artifact


def test_an_artifact_is_written_and_read(tmp_path: Path) -> None:
    artifact = write_onnx_artifact(tmp_path)
    assert read_artifact(tmp_path) == artifact


def test_a_hash_is_the_files_sha256(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"abc")
    (file,) = describe_files(tmp_path, ["a"])
    # FIPS 180-2, appendix B.1.
    assert file.sha256 == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    assert file.size_bytes == 3


def test_a_folder_that_is_no_artifact_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match=r"has no artifact\.json"):
        read_artifact(tmp_path)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"schema_version": 9}'])
def test_a_damaged_description_is_refused(tmp_path: Path, text: str) -> None:
    write_onnx_artifact(tmp_path)
    (tmp_path / "artifact.json").write_text(text)
    with pytest.raises(CheckpointError, match="not readable"):
        read_artifact(tmp_path)


def test_changed_truncated_and_missing_files_are_refused(tmp_path: Path) -> None:
    write_onnx_artifact(tmp_path)
    path = tmp_path / "network.onnx"
    content = path.read_bytes()
    path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    with pytest.raises(CheckpointError, match="SHA-256 differs"):
        read_artifact(tmp_path)
    path.write_bytes(content[:-1])
    with pytest.raises(CheckpointError, match=f"has {len(content) - 1} bytes"):
        read_artifact(tmp_path)
    path.unlink()
    with pytest.raises(CheckpointError, match=r"lacks its file 'network\.onnx'"):
        read_artifact(tmp_path)


@pytest.mark.parametrize("name", ["../network.onnx", "/etc/passwd", "a/../../network.onnx"])
def test_a_file_outside_the_folder_is_refused(tmp_path: Path, name: str) -> None:
    artifact = write_onnx_artifact(tmp_path)
    file = artifact.files[0].model_copy(update={"name": name})
    text = artifact.model_copy(update={"files": (file,), "entry": name}).model_dump_json()
    (tmp_path / "artifact.json").write_text(text)
    with pytest.raises(CheckpointError, match="outside the artifact"):
        read_artifact(tmp_path)


def test_a_description_that_cannot_be_written_is_a_storage_error(tmp_path: Path) -> None:
    artifact = write_onnx_artifact(tmp_path)
    (tmp_path / "artifact.json").unlink()
    (tmp_path / "artifact.json").mkdir()
    with pytest.raises(StorageError, match="could not be written"):
        write_artifact(artifact, tmp_path)
