"""What a backend is: our file for an engine, which builds artifacts that `gantune.runtime` runs."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from torch import nn

from gantune.exporting.options import ExportOptions
from gantune.networks.contract import Network
from gantune.records.artifact import Artifact, ArtifactEnvironment, Engine, OptionValue, Precision
from gantune.records.plan import Step


@dataclass(frozen=True, kw_only=True)
class BuildOptions:
    """Choose precision, inputs and engine settings of an artifact.

    `precision` is what the engine is told (OpenVINO), or what the transformed network computes in (torch).
    `engine_options` go to the engine as they are.
    """

    precision: Precision = "fp32"
    export: ExportOptions = field(default_factory=ExportOptions)
    environment: ArtifactEnvironment = field(default_factory=ArtifactEnvironment)
    engine_options: tuple[tuple[str, OptionValue], ...] = ()


Build = Callable[[Network | nn.Module, Path, BuildOptions], Artifact]


@dataclass(frozen=True)
class Plan:
    """One way to prepare a network for a backend: the transforms, in order, and the precision."""

    name: str
    precision: Precision
    steps: tuple[Step, ...]


@dataclass(frozen=True)
class Backend:
    """Name an engine, say whether it is here, how to build for it, and which plans suit it.

    `missing` returns None where the engine can be used, else the reason; `plans(family)` lists the most
    promising first.
    """

    name: Engine
    missing: Callable[[], str | None]
    build: Build
    plans: Callable[[str], tuple[Plan, ...]]

    def is_available(self) -> bool:
        """Say whether the engine's package is installed."""
        return self.missing() is None
