import pytest

from gantune.records.candidate import Interval, Latency, Measurement
from gantune.records.measurement import Comparison, SubjectResult


def make_comparison() -> Comparison:
    measured = Measurement(
        latency_ms=Latency(p50=1, p90=2, mean=1.5, n=15),
        throughput_images_s=1000,
        peak_bytes=5,
        minor_faults=0.0,
        load_ms=3,
        first_call_ms=4,
    )
    return Comparison(
        results=(
            SubjectResult(name="a", status="measured", batch_size=1, measured=measured),
            SubjectResult(name="b", status="failed", reason="it died", batch_size=1),
        ),
        speedups={"a": {"a": Interval(median=1, low=0.9, high=1.1)}},
        num_rounds=15,
        is_complete=True,
    )


def test_a_comparison_goes_to_json_and_back() -> None:
    comparison = make_comparison()
    assert Comparison.model_validate_json(comparison.model_dump_json()) == comparison


def test_a_result_is_found_by_name() -> None:
    assert make_comparison().result("b").reason == "it died"
    with pytest.raises(KeyError):
        make_comparison().result("c")
