import pytest

from gantune.training.memory_probe import PhaseCost, Probe
from gantune.training.progress import describe_probe, format_duration


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(4.4, "4 s"), (65, "1 min"), (3550, "59 min"), (3900, "1 h 05 min"), (90000, "25 h 00 min")],
)
def test_durations_read_as_people_say_them(seconds, text):
    assert format_duration(seconds) == text


def test_a_probe_names_its_worst_phase():
    phases = (PhaseCost("g_main", 2**20, 1.0, 1), PhaseCost("d_r1", 3 * 2**20, 1.0, 16))
    assert describe_probe(Probe(8, 2**20, phases)) == (
        "batch 8 needs 4 MiB of tensors (1 always; g_main 1, d_r1 3), most in d_r1"
    )
