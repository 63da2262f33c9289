"""Statistics of reference data, kept on disk by data, features and resize, so that real images run once."""

import hashlib
import zipfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from gantune.errors import CheckpointError
from gantune.machine.whole_files import write_whole
from gantune.quality.feature_sets import FeatureSet, gather_features
from gantune.quality.features import FeatureNetwork
from gantune.quality.image_sources import PictureFiles
from gantune.quality.moments import Moments

NUM_KEPT = 10_000


@dataclass(frozen=True)
class ReferenceStatistics:
    """The features of reference data and the hash of the data; `is_cached` where no image was run."""

    features: FeatureSet
    data_sha256: str
    is_cached: bool


def reference_statistics(
    pictures: PictureFiles, network: FeatureNetwork, *, folder: Path, batch: int
) -> ReferenceStatistics:
    """Read the statistics from `folder`, or compute and store them there."""
    data_sha256 = pictures.hash_contents()
    key = f"{data_sha256} {network.name} {network.weights_sha256} {network.resize_identity} {NUM_KEPT} v1"
    path = folder / f"{hashlib.sha256(key.encode()).hexdigest()}.npz"
    if path.is_file():
        return ReferenceStatistics(_read(path), data_sha256, is_cached=True)
    found = gather_features(
        pictures, network, start=0, stop=pictures.num_images, batch=batch, num_kept=NUM_KEPT
    )
    _write(path, found)
    return ReferenceStatistics(found, data_sha256, is_cached=False)


def _write(path: Path, found: FeatureSet) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with write_whole(path) as partial, partial.open("wb") as stream:
        np.savez(
            stream,
            n=np.asarray(found.n),
            mean=found.moments.mean.numpy(),
            covariance=found.moments.covariance.numpy(),
            features=found.features.numpy(),
        )


def _read(path: Path) -> FeatureSet:
    try:
        with np.load(path, allow_pickle=False) as stored:
            moments = Moments.restore(
                int(stored["n"]), torch.from_numpy(stored["mean"]), torch.from_numpy(stored["covariance"])
            )
            return FeatureSet(moments, torch.from_numpy(stored["features"]), None)
    except (OSError, ValueError, KeyError, zipfile.BadZipFile, EOFError) as error:
        raise CheckpointError(
            f"The stored statistics {path} are damaged ({error}). Delete the file."
        ) from error
