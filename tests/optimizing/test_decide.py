import pytest

from gantune.optimizing.decide import decide, pick_best, word_verdict
from gantune.quality.gate import Budget
from gantune.records.candidate import Candidate, ImageQuality, Interval, Latency, Measurement

QUALITY = ImageQuality(
    psnr_db=50, snr_db=50, identical=False, ssim=0.99, max_abs=0.01, is_exact=False, spectrum_db=0.1
)
MEASURED = Measurement(
    latency_ms=Latency(p50=10, p90=11, mean=10, n=30),
    throughput_images_s=100,
    peak_bytes=1,
    minor_faults=0,
    load_ms=1,
    first_call_ms=1,
)


def judged(low: float, budget: Budget | None = None, must_be_exact: bool = False) -> tuple[str, str]:
    return decide(
        speedup_tuned=Interval(median=low + 0.1, low=low, high=low + 0.2),
        quality=QUALITY,
        measured=MEASURED,
        size_bytes=1,
        budget=budget or Budget(min_psnr_db=40),
        image_error="range",
        must_be_exact=must_be_exact,
    )


@pytest.mark.parametrize(("low", "status"), [(1.051, "kept"), (1.05, "rejected"), (0.5, "rejected")])
def test_the_lower_end_of_the_interval_must_exceed_five_percent(low: float, status: str) -> None:
    assert judged(low)[0] == status


def test_a_fast_candidate_outside_the_budget_is_rejected_with_the_bound() -> None:
    status, reason = judged(3.0, Budget(min_psnr_db=60))
    assert status == "rejected"
    assert "60 dB" in reason


def test_exactness_that_was_asked_for_is_required() -> None:
    assert judged(3.0, must_be_exact=True)[0] == "rejected"


def candidate(name: str, status: str, p50: float, images_s: float) -> Candidate:
    return Candidate(
        name=name, engine="e", plan=(), why="", status=status, reason="",  # type: ignore[arg-type]
        latency_ms=Latency(p50=p50, p90=p50, mean=p50, n=1), throughput_images_s=images_s,
        speedup_as_is=Interval(median=4, low=4, high=4), speedup_tuned=Interval(median=2, low=2, high=2),
    )  # fmt: skip


def test_the_best_is_the_fastest_kept_one_by_the_goal() -> None:
    candidates = [
        candidate("rejected", "rejected", 1, 1000),
        candidate("quick", "kept", 2, 300),
        candidate("wide", "kept", 3, 500),
    ]
    latency, throughput = pick_best(candidates, goal="latency"), pick_best(candidates, goal="throughput")
    assert latency is not None
    assert throughput is not None
    assert (latency.name, throughput.name) == ("quick", "wide")
    assert "4.0× the original as it is" in word_verdict(latency)


def test_no_kept_candidate_means_keep_the_original() -> None:
    assert pick_best([candidate("a", "rejected", 1, 1)], goal="latency") is None
    assert word_verdict(None).startswith("Keep the original")
