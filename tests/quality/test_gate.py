import math

import pytest

from gantune.errors import UsageError
from gantune.quality.gate import Budget, find_violations, image_error_db
from gantune.records.candidate import ImageQuality, Latency, Measurement


def quality(**changes: object) -> ImageQuality:
    values: dict[str, object] = {
        "psnr_db": 50.0, "snr_db": 42.0, "identical": False, "ssim": 0.99, "max_abs": 0.01,
        "is_exact": False, "spectrum_db": 0.5,
    }  # fmt: skip
    return ImageQuality.model_validate(values | changes)


MEASURED = Measurement(
    latency_ms=Latency(p50=10, p90=11, mean=10, n=30),
    throughput_images_s=100,
    peak_bytes=1000,
    minor_faults=0,
    load_ms=1,
    first_call_ms=20,
)


def violations(budget: Budget, image: ImageQuality, image_error: str = "range") -> list[str]:
    return find_violations(budget, quality=image, measured=MEASURED, size_bytes=500, image_error=image_error)  # type: ignore[arg-type]


def test_a_candidate_inside_every_bound_has_no_violation() -> None:
    budget = Budget(
        min_psnr_db=50, max_spectrum_db=0.5, max_latency_ms=10, max_peak_bytes=1000, max_size_bytes=500
    )
    assert violations(budget, quality()) == []


@pytest.mark.parametrize(
    ("budget", "word"),
    [
        (Budget(min_psnr_db=50.1), "image error"),
        (Budget(max_spectrum_db=0.4), "spectrum"),
        (Budget(max_latency_ms=9.9), "latency"),
        (Budget(max_peak_bytes=999), "peak memory"),
        (Budget(max_size_bytes=499), "size"),
    ],
)
def test_each_bound_is_named_when_it_is_missed(budget: Budget, word: str) -> None:
    (text,) = violations(budget, quality())
    assert word in text


def test_nan_never_passes_the_gate() -> None:
    assert violations(Budget(min_psnr_db=40), quality(psnr_db=math.nan))
    assert violations(Budget(max_spectrum_db=1), quality(spectrum_db=math.nan))


def test_image_error_follows_the_asked_definition() -> None:
    assert image_error_db(quality(), image_error="range") == 50
    assert image_error_db(quality(), image_error="snr") == 42
    assert violations(Budget(min_psnr_db=45), quality(), "snr")


def test_identical_images_pass_any_bound() -> None:
    assert violations(Budget(min_psnr_db=1000), quality(psnr_db=None, snr_db=None, identical=True)) == []


def test_images_that_differ_without_a_figure_pass_no_bound() -> None:
    assert violations(Budget(min_psnr_db=0.1), quality(snr_db=None), "snr")


def test_an_impossible_bound_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="max_latency_ms"):
        Budget(max_latency_ms=-1)


def test_a_frechet_loss_that_is_bounded_must_be_known_and_inside() -> None:
    budget = Budget(max_frechet_loss=0.02)
    assert violations(budget, quality(frechet_loss=0.01)) == []
    assert violations(budget, quality(frechet_loss=-0.3)) == []
    assert "Fréchet loss" in violations(budget, quality(frechet_loss=0.03))[0]
    assert violations(budget, quality()) == ["the Fréchet loss is not known, and the budget bounds it"]


def test_ssim_is_better_when_higher() -> None:
    assert violations(Budget(min_ssim=0.99), quality()) == []
    assert violations(Budget(min_ssim=0.995), quality()) == ["SSIM 0.9900 is below 0.995"]
