import pytest
from pydantic import ValidationError

from gantune.records.artifact import Artifact, ArtifactEnvironment, ArtifactFile
from gantune.records.interface import InputSpec, OutputSpec


def make_artifact(**changes: object) -> Artifact:
    fields: dict[str, object] = {
        "gantune_version": "0.1.0",
        "family": "dcgan",
        "engine": "onnxruntime",
        "precision": "fp32",
        "inputs": (InputSpec(name="z", kind="latent", shape=("N", 100)),),
        "output": OutputSpec(),
        "entry": "network.onnx",
        "files": (
            ArtifactFile(name="network.onnx", sha256="0" * 64, size_bytes=10),
            ArtifactFile(name="network.onnx.data", sha256="a" * 64, size_bytes=90),
        ),
        "options": {"layout": "channels_last", "rounds": 3},
        "environment": ArtifactEnvironment(threads=2, allocator="tuned"),
    }
    return Artifact.model_validate(fields | changes)


def test_an_artifact_goes_to_json_and_back() -> None:
    artifact = make_artifact()
    assert Artifact.model_validate_json(artifact.model_dump_json()) == artifact


def test_the_size_is_the_sum_of_all_files() -> None:
    assert make_artifact().size_bytes == 100


@pytest.mark.parametrize(
    "change",
    [
        {"entry": "other.onnx"},
        {"engine": "excel"},
        {"precision": "fp7"},
        {"schema_version": 2},
        {"files": ({"name": "network.onnx", "sha256": "short", "size_bytes": 1},)},
    ],
)
def test_a_wrong_field_is_refused(change: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        make_artifact(**change)
