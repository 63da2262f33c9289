import importlib
import socket
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from PIL import Image

from gantune.errors import CheckpointError, QualityError, UnavailableError, UnsupportedError, UsageError
from gantune.quality.evaluation import METRIC_NAMES, EvaluateOptions, evaluate
from gantune.quality.feature_catalogue import FeatureOptions
from gantune.quality.image_sources import GeneratedImages, PictureFiles, read_batches
from gantune.quality.paired import is_exact
from gantune.quality.requirements import parse_requirement, require

GOLDEN = Path(__file__).parents[1] / "golden"
STYLEGAN = GOLDEN / "stylegan3-t-32.pkl"


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GANTUNE_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def features(tmp_path: Path) -> FeatureOptions:
    """Twelve features: the averages of an image's quarters, by convolution."""
    weights = np.zeros((12, 3, 8, 8), np.float32)
    for channel in range(3):
        for corner in range(4):
            top, left = 4 * (corner // 2), 4 * (corner % 2)
            weights[4 * channel + corner, channel, top : top + 4, left : left + 4] = 1 / 16
    graph = helper.make_graph(
        [helper.make_node("Conv", ["x", "w"], ["y"])],
        "quarters",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 3, 8, 8])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(weights, "w")],
    )
    path = tmp_path / "quarters.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), path)
    return FeatureOptions(name=str(path))


def write_pictures(folder: Path, images: np.ndarray) -> Path:
    folder.mkdir()
    for index, image in enumerate(images):
        Image.fromarray(image).save(folder / f"{index:03d}.png")
    return folder


def textures(n: int, seed: int) -> np.ndarray:
    coarse = np.random.default_rng(seed).integers(40, 216, (n, 4, 4, 3))
    return np.kron(coarse, np.ones((1, 4, 4, 1))).astype(np.uint8)


def test_two_folders_are_compared_pairwise_and_as_distributions(
    tmp_path: Path, features: FeatureOptions
) -> None:
    images = textures(40, 0)
    noisy = np.clip(images + np.random.default_rng(1).normal(0, 30, images.shape), 0, 255).astype(np.uint8)
    old, new = write_pictures(tmp_path / "old", images), write_pictures(tmp_path / "new", noisy)
    real = write_pictures(tmp_path / "real", textures(60, 2))
    options = EvaluateOptions(features=features, num_images=40)
    found = evaluate(new, against=old, reference=real, options=options)
    assert {"psnr_db", "ssim", "frechet", "kid", "precision", "frechet_loss"} <= set(found.scores)
    assert found.scores["psnr_db"].value == pytest.approx(20 * np.log10(255 / 30), abs=0.6)
    assert set(found.differences) == {"frechet", "kid"}
    for name in ("frechet", "kid", "precision"):
        identity = found.scores[name].identity
        assert identity.features == "quarters.onnx"
        assert identity.num_images == 40
        assert len(identity.weights_sha256 or "") == len(identity.reference_sha256 or "") == 64
        assert identity.resize == "clean to 8"
    assert type(found).model_validate_json(found.model_dump_json()) == found


def test_the_second_run_does_not_read_the_reference_through_the_features(
    tmp_path: Path, features: FeatureOptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, fake = (write_pictures(tmp_path / str(seed), textures(20, seed)) for seed in (0, 1))
    options = EvaluateOptions(features=features, num_images=20)
    first = evaluate(fake, reference=real, options=options)
    sets = importlib.import_module("gantune.quality.reference_cache")

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("the reference was run again")

    monkeypatch.setattr(sets, "gather_features", refuse)
    assert evaluate(fake, reference=real, options=options) == first
    Image.fromarray(textures(1, 9)[0]).save(real / "000.png")
    with pytest.raises(AssertionError, match="run again"):
        evaluate(fake, reference=real, options=options)


def test_a_checkpoint_against_itself_is_identical_and_loses_nothing(features: FeatureOptions) -> None:
    found = evaluate(STYLEGAN, against=STYLEGAN, options=EvaluateOptions(features=features, num_images=20))
    assert found.is_identical
    assert "psnr_db" not in found.scores
    assert found.scores["frechet_loss"].value == 0
    assert found.differences["frechet"].verdict == "no difference shown"
    require(found, [parse_requirement("min_psnr_db=60"), parse_requirement("max_frechet_loss=0.02")])


def test_samples_do_not_depend_on_the_batch() -> None:
    from gantune.measuring.original import RunnableOriginal

    source = GeneratedImages(RunnableOriginal(STYLEGAN), seed=3)
    together = source.read(60, 68)
    apart = np.concatenate(list(read_batches(source, 60, 68, batch=3)))
    assert is_exact(apart, together)
    assert not np.allclose(together[0], together[1])


def test_metrics_of_a_generator_are_computed_when_asked_for() -> None:
    found = evaluate(STYLEGAN, options=EvaluateOptions(metrics=("eq_t", "eq_r"), num_images=2))
    assert set(found.scores) == {"eq_t", "eq_r"}
    assert found.scores["eq_t"].value > found.scores["eq_r"].value > 20
    with pytest.raises(UnavailableError, match="--lpips-vgg"):
        evaluate(STYLEGAN, options=EvaluateOptions(metrics=("ppl_w_end",), num_images=2))
    with pytest.raises(UnsupportedError, match="synthesis"):
        evaluate(GOLDEN / "biggan-32.pth", options=EvaluateOptions(metrics=("eq_t",), num_images=2))


def test_offline_fid_says_that_it_is_not_available_and_opens_no_connection(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a connection was opened")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "create_connection", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    real = write_pictures(tmp_path / "real", textures(4, 0))
    fid = FeatureOptions(name="inception-v3-fid")
    found = evaluate(real, against=real, reference=real, options=EvaluateOptions(features=fid))
    assert "FID is not available" in found.left_out["frechet"]
    assert "ssim" in found.scores
    with pytest.raises(UnavailableError, match="FID is not available"):
        evaluate(real, reference=real, options=EvaluateOptions(features=fid, metrics=("frechet",)))


def test_mistakes_are_said_in_one_sentence(tmp_path: Path, features: FeatureOptions) -> None:
    pictures = write_pictures(tmp_path / "one", textures(1, 0))
    with pytest.raises(UsageError, match="at least 2"):
        evaluate(pictures, reference=pictures, options=EvaluateOptions(features=features))
    with pytest.raises(UsageError, match="--reference"):
        evaluate(pictures, options=EvaluateOptions(features=features, metrics=("kid",)))
    with pytest.raises(UsageError, match=f"metrics are: {METRIC_NAMES[0]}"):
        EvaluateOptions(metrics=("fif",))
    with pytest.raises(CheckpointError, match="nothing at"):
        evaluate(tmp_path / "absent")
    Image.fromarray(np.zeros((3, 5, 3), np.uint8)).save(pictures / "001.png")
    with pytest.raises(CheckpointError, match="3×5; the first picture is 16×16"):
        PictureFiles(pictures).read(0, 2)
    (pictures / "001.png").write_bytes(b"junk")
    with pytest.raises(CheckpointError, match="not a readable picture"):
        PictureFiles(pictures).read(0, 2)


@pytest.mark.parametrize("text", ["psnr_db=4", "min_psnr_db", "min_psnr_db=much", "max_=1", "min_x=nan"])
def test_requirements_that_cannot_be_read_are_refused(text: str) -> None:
    with pytest.raises(UsageError, match="min_NAME=VALUE"):
        parse_requirement(text)


def test_a_requirement_is_held_against_the_bad_end_of_the_interval(
    tmp_path: Path, features: FeatureOptions
) -> None:
    images = textures(30, 0)
    old, new = write_pictures(tmp_path / "old", images), write_pictures(tmp_path / "new", images // 4 * 4)
    found = evaluate(new, against=old, options=EvaluateOptions(features=features))
    score = found.scores["psnr_db"]
    assert score.low is not None
    assert score.low < score.value
    require(found, [parse_requirement(f"min_psnr_db={score.low}")])
    with pytest.raises(QualityError, match="lower end of its interval"):
        require(found, [parse_requirement(f"min_psnr_db={score.value}")])
    with pytest.raises(QualityError, match="frechet_loss is not known"):
        require(found, [parse_requirement("max_frechet_loss=0.1")])


@pytest.mark.slow
def test_no_metric_imports_scipy() -> None:
    # In a process of its own: other tests may have imported it.
    modules = sorted(
        f"gantune.quality.{path.stem}"
        for path in (Path(__file__).parents[2] / "src" / "gantune" / "quality").glob("[a-z]*.py")
    )
    script = f"import sys, {', '.join(modules)}; sys.exit('scipy' in sys.modules)"
    subprocess.run([sys.executable, "-c", script], check=True)
