from pathlib import Path

import pytest

from gantune.errors import UsageError
from gantune.optimizing.quantization_options import QuantizationRun
from gantune.records.candidate import ImageQuality

QUALITY = ImageQuality(
    psnr_db=39.0, snr_db=30.0, identical=False, ssim=1.0, max_abs=0.1, is_exact=False, spectrum_db=0.0
)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"num_samples": 7}, "7 calibration samples are too few to know the ranges; take at least 8"),
        ({"min_db": 101.0}, "gate is 101 dB, an impossible budget"),
        ({"min_db": 0.0}, "gate is 0 dB, an impossible budget"),
        ({"min_db": float("nan")}, "impossible budget"),
        ({"rounds": 2}, "rounds is 2"),
        ({"pictures": Path("a"), "samples": Path("a")}, "a is named for calibration and for the test"),
    ],
)
def test_values_that_make_no_run_are_refused(values: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        QuantizationRun(**values)  # type: ignore[arg-type]


def test_the_gate_bounds_the_error_that_was_chosen() -> None:
    assert QuantizationRun(min_db=38.0).is_inside(QUALITY)
    assert not QuantizationRun(min_db=38.0, image_error="snr").is_inside(QUALITY)
    same = QUALITY.model_copy(update={"psnr_db": None, "snr_db": None, "identical": True})
    assert QuantizationRun(min_db=100.0).is_inside(same)
