from pathlib import Path

import numpy as np
import pytest

from artifact_samples import write_onnx_artifact
from gantune.errors import CheckpointError
from gantune.measuring.named import name_subjects
from gantune.measuring.original import RunnableOriginal
from gantune.measuring.subject import ArtifactSource, CheckpointSource

NETWORK = Path(__file__).parent.parent / "golden" / "stylegan2-uncond-32.pkl"


def test_files_are_checkpoints_and_folders_are_artifacts(tmp_path: Path) -> None:
    write_onnx_artifact(tmp_path)
    file, folder = name_subjects([NETWORK, tmp_path], threads=2, tune_allocator=True)
    assert isinstance(file.source, CheckpointSource)
    assert isinstance(folder.source, ArtifactSource)
    assert folder.source.tune_allocator
    assert file.environment
    assert not folder.environment


def test_names_that_meet_are_numbered() -> None:
    names = [s.name for s in name_subjects([NETWORK, NETWORK, NETWORK], threads=1, tune_allocator=False)]
    assert names == [NETWORK.name, f"{NETWORK.name}#2", f"{NETWORK.name}#3"]


def test_a_path_without_anything_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="nothing at"):
        name_subjects([tmp_path / "missing"], threads=1, tune_allocator=False)


def test_the_original_of_a_style_network_takes_truncation() -> None:
    original = RunnableOriginal(NETWORK)
    z = np.random.default_rng(0).standard_normal((2, 32), dtype=np.float32)
    averages = original(z=z, truncation_psi=0.0)
    assert abs(averages[0] - averages[1]).max() < 1e-6
    assert abs(original(z=z)[0] - averages[0]).max() > 0.1


def test_the_original_takes_any_batch_and_seeds_do_not_depend_on_it() -> None:
    original = RunnableOriginal(NETWORK)
    from gantune.runtime.sampling import draw_inputs

    one, three = (original(**draw_inputs(original.inputs, n, 5)) for n in (1, 3))
    assert three.shape == (3, 3, 32, 32)
    assert abs(one[0] - three[0]).max() < 1e-5


def test_a_damaged_artifact_is_refused(tmp_path: Path) -> None:
    write_onnx_artifact(tmp_path)
    (tmp_path / "artifact.json").write_text("{")
    with pytest.raises(CheckpointError, match="not readable"):
        name_subjects([tmp_path], threads=1, tune_allocator=False)
