"""The feature networks a user can name; a new one is one file and one line in `FEATURE_SOURCES`."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from gantune.errors import UsageError
from gantune.machine.environment import read_variable
from gantune.quality import efficientnet_lite, fid_inception
from gantune.quality.features import FeatureNetwork
from gantune.quality.onnx_features import open_onnx_features
from gantune.quality.resize import ResizeMode


@dataclass(frozen=True, kw_only=True)
class FeatureOptions:
    """Name the features, or an ONNX file; `weights` is their file, `sha256` the hash it must have.

    Nothing is fetched unless `download` says so.
    """

    name: str = efficientnet_lite.NAME
    weights: Path | None = None
    sha256: str | None = None
    resize: ResizeMode = "clean"
    download: bool = False

    def __post_init__(self) -> None:
        sha256 = self.sha256
        if sha256 is not None and (len(sha256) != 64 or not set(sha256.lower()) <= set("0123456789abcdef")):
            raise UsageError(f"{sha256!r} is not a SHA-256; it must be 64 hexadecimal digits.")


@dataclass(frozen=True)
class FeatureSource:
    """A name, and how the network is opened."""

    name: str
    open: Callable[[FeatureOptions], FeatureNetwork]


def cache_folder() -> Path:
    """Give the folder of gantune's cache: `GANTUNE_CACHE`, else below the user's cache folder."""
    own = read_variable("GANTUNE_CACHE")
    if own:
        return Path(own)
    shared = read_variable("XDG_CACHE_HOME")
    return (Path(shared) if shared else Path.home() / ".cache") / "gantune"


def _open_efficientnet(options: FeatureOptions) -> FeatureNetwork:
    return efficientnet_lite.open_efficientnet(options.weights, resize=options.resize)


def _open_inception(options: FeatureOptions) -> FeatureNetwork:
    return fid_inception.open_fid_inception(
        options.weights,
        sha256=options.sha256,
        resize=options.resize,
        folder=cache_folder() / "weights" if options.download else None,
    )


FEATURE_SOURCES: tuple[FeatureSource, ...] = (
    FeatureSource(efficientnet_lite.NAME, _open_efficientnet),
    FeatureSource(fid_inception.NAME, _open_inception),
)


def open_features(options: FeatureOptions) -> FeatureNetwork:
    """Open the features that `options` name; raise `UsageError` for an unknown name."""
    for source in FEATURE_SOURCES:
        if source.name == options.name:
            return source.open(options)
    if options.name.endswith(".onnx"):
        return open_onnx_features(Path(options.name), sha256=options.sha256, resize=options.resize)
    known = ", ".join(source.name for source in FEATURE_SOURCES)
    raise UsageError(
        f"There are no features {options.name!r}; name one of {known}, or a file that ends in .onnx."
    )
