"""What this machine reaches with torch: the speed of convolutions and of copies, measured, not looked up.

The two lines of the roofline model (Williams, Waterman and Patterson 2009).
"""

import torch
from torch.nn import functional as F

from gantune.measuring.latency import measure_latency
from gantune.records.profile import Roofline

# (channels, size): 3×3 convolutions as generators have them; the fastest counts as the machine's speed.
_CONVOLUTIONS = ((64, 128), (128, 64), (512, 32))
# Far above any cache, so that memory is what is measured.
_COPY_FLOATS = 1 << 26


def measure_roofline(*, num_repeats: int = 5) -> Roofline:
    """Measure convolutions and copies of large tensors with torch's current number of threads."""
    speeds, reduced = (
        [_time_convolution(channels, size, num_repeats, dtype) for channels, size in _CONVOLUTIONS]
        for dtype in (torch.float32, torch.bfloat16)
    )
    source = torch.zeros(_COPY_FLOATS)
    target = torch.zeros(_COPY_FLOATS)
    copy_ms = measure_latency(lambda: target.copy_(source), num_repeats=num_repeats).p50
    return Roofline(
        convolution_gflops=max(speeds),
        bfloat16_speedup=max(reduced) / max(speeds),
        # Read once and written once.
        copy_gb_s=2 * 4 * _COPY_FLOATS / copy_ms / 1e6,
        threads=torch.get_num_threads(),
    )


def _time_convolution(channels: int, size: int, num_repeats: int, dtype: torch.dtype) -> float:
    """Give GFLOP/s of one channels-last 3×3 convolution; a multiply-accumulate is two operations."""
    x = torch.ones(1, channels, size, size, dtype=dtype).contiguous(memory_format=torch.channels_last)
    weight = torch.ones(channels, channels, 3, 3, dtype=dtype).contiguous(memory_format=torch.channels_last)
    with torch.inference_mode():
        time_ms = measure_latency(lambda: F.conv2d(x, weight, padding=1), num_repeats=num_repeats).p50
    return 2 * channels * channels * 9 * size * size / time_ms / 1e6
