from dataclasses import replace

import pytest
import torch

from gantune.errors import UnavailableError
from gantune.measuring.live_bytes import LiveBytes
from gantune.training import SpeedOptions
from gantune.training.memory_probe import check_memory, probe_phases
from gantune.training.shapes import ImageShape
from training_samples import small_recipe

IMAGES = ImageShape(8, 1, 3)


def test_live_bytes_follow_birth_and_end():
    given = torch.ones(1000)
    with LiveBytes() as live:
        first = given * 2
        view = first[:10]
        second = first + 1
        del first, view
        third = second * 2
        del second, third
    # Two results of 4,000 bytes live at once; the view and the given tensor count nothing.
    assert live.peak_bytes == 8000
    assert live.current_bytes == 0


def test_every_phase_is_probed_and_a_larger_batch_needs_more():
    small, large = (
        probe_phases(small_recipe(batch=batch), SpeedOptions(workers=0), IMAGES) for batch in (8, 16)
    )
    assert [phase.name for phase in small.phases] == ["g_main", "g_path_length", "d_main", "d_r1"]
    for before, after in zip(small.phases, large.phases, strict=True):
        assert 1.5 < after.peak_bytes / before.peak_bytes < 2.5
    assert small.resident_bytes == large.resident_bytes
    assert small.worst.peak_bytes == max(phase.peak_bytes for phase in small.phases)
    assert small.peak_bytes == small.resident_bytes + small.worst.peak_bytes


def test_the_throughput_weighs_phases_by_their_interval():
    probe = probe_phases(small_recipe(), SpeedOptions(workers=0), IMAGES)
    phases = tuple(replace(phase, ms=10.0) for phase in probe.phases)
    # Intervals 1, 2, 1, 3: 10 + 5 + 10 + 10/3 ms for 8 images.
    assert replace(probe, phases=phases).images_per_s == pytest.approx(8000 / (25 + 10 / 3))


def test_what_does_not_fit_is_refused_with_the_phase():
    probe = probe_phases(small_recipe(), SpeedOptions(workers=0), IMAGES)
    check_memory(probe)
    huge = tuple(replace(phase, peak_bytes=2**50) for phase in probe.phases[:1]) + probe.phases[1:]
    with pytest.raises(UnavailableError, match=r"in the phase g_main.*smaller --batch"):
        check_memory(replace(probe, phases=huge))
