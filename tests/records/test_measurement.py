import pytest

from gantune.records.measurement import Comparison, Interval, Latency, Measurement
from gantune.records.quality import PairedQuality


def make_comparison() -> Comparison:
    measured = Measurement(
        name="a", status="measured", batch_size=1, latency_ms=Latency(p50=1, p90=2, mean=1.5, n=15)
    )
    failed = Measurement(name="b", status="failed", reason="it died", batch_size=1)
    return Comparison(
        measurements=(measured, failed),
        speedups={"a": {"a": Interval(median=1, low=0.9, high=1.1)}},
        num_rounds=15,
        is_complete=True,
    )


def test_a_comparison_goes_to_json_and_back() -> None:
    comparison = make_comparison()
    assert Comparison.model_validate_json(comparison.model_dump_json()) == comparison


def test_a_measurement_is_found_by_name() -> None:
    assert make_comparison().measurement("b").reason == "it died"
    with pytest.raises(KeyError):
        make_comparison().measurement("c")


def test_identical_images_are_written_with_a_null_psnr() -> None:
    quality = PairedQuality(psnr_db=None, snr_db=None, identical=True, ssim=1.0, max_abs=0.0)
    assert '"psnr_db":null' in quality.model_dump_json()
    assert PairedQuality.model_validate_json(quality.model_dump_json()) == quality
