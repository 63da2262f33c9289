"""What `artifact.json` says: what it takes to run an exported network, and proof that its files are whole."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from gantune.records.interface import InputSpec, OutputSpec

Engine = Literal["onnxruntime", "openvino", "torch", "torch_compile", "aotinductor"]
Precision = Literal["fp32", "bf16", "fp16", "int8"]
Allocator = Literal["default", "tuned"]
OptionValue = bool | int | float | str

ARTIFACT_FILE_NAME = "artifact.json"
_SHA256 = r"^[0-9a-f]{64}$"


class ArtifactFile(BaseModel):
    """Name one file of the artifact, by its path relative to `artifact.json`."""

    model_config = ConfigDict(frozen=True)

    name: str = Field(min_length=1)
    sha256: str = Field(pattern=_SHA256)
    size_bytes: int = Field(ge=0)


class ArtifactEnvironment(BaseModel):
    """Say what the artifact was timed with: engine threads (None: the engine's default) and allocator."""

    model_config = ConfigDict(frozen=True)

    threads: int | None = Field(default=None, ge=1)
    allocator: Allocator = "default"


class Artifact(BaseModel):
    """Describe an exported network: its interface, its engine and the engine's files.

    `entry` is the file that the engine opens; `files` lists it and every other file it needs. `precision` is
    the working precision that the engine is told; an int8 artifact carries its integers in the graph, and
    `options["rest_precision"]` ("fp32" or "bf16") says what the engine is told for the rest. `options` holds
    the engine's own settings as plain values.
    """

    model_config = ConfigDict(frozen=True)

    schema_version: Literal[1] = 1
    gantune_version: str
    family: str
    engine: Engine
    precision: Precision
    inputs: tuple[InputSpec, ...]
    output: OutputSpec
    entry: str
    files: tuple[ArtifactFile, ...]
    options: dict[str, OptionValue] = {}
    environment: ArtifactEnvironment = ArtifactEnvironment()

    @model_validator(mode="after")
    def _entry_is_listed(self) -> "Artifact":
        names = [file.name for file in self.files]
        if self.entry not in names:
            raise ValueError(f"entry {self.entry!r} is not among files {names}")
        return self

    @property
    def size_bytes(self) -> int:
        """Add up the sizes of all files."""
        return sum(file.size_bytes for file in self.files)
