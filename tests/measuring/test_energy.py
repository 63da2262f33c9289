from pathlib import Path

import pytest

from gantune.errors import UnavailableError
from gantune.measuring import energy
from gantune.measuring.energy import EnergyCounter, find_counter, measure_joules


def write_counter(folder: Path, name: str, microjoules: int) -> Path:
    (folder / name).mkdir(parents=True)
    (folder / name / "energy_uj").write_text(f"{microjoules}\n")
    return folder / name / "energy_uj"


def test_packages_are_added_and_their_parts_are_not_counted_twice(tmp_path: Path) -> None:
    write_counter(tmp_path, "intel-rapl:0", 3_000_000)
    write_counter(tmp_path, "intel-rapl:1", 500_000)
    write_counter(tmp_path, "intel-rapl:0:0", 2_000_000)
    counter = find_counter(tmp_path)
    assert counter.read_joules() == pytest.approx(3.5)
    assert "RAPL" in counter.source


def test_the_joules_of_one_call_are_the_growth_over_the_calls() -> None:
    readings = iter([100.0, 160.0])
    calls: list[int] = []
    counter = EnergyCounter("made up", lambda: next(readings))
    assert measure_joules(counter, lambda: calls.append(1), num_calls=30) == 2.0
    assert len(calls) == 30


def test_a_machine_without_counters_says_not_available(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(energy.shutil, "which", lambda name: None)
    with pytest.raises(UnavailableError, match="not available"):
        find_counter(tmp_path)


def test_a_gpu_that_gives_no_number_is_unavailable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = tmp_path / "nvidia-smi"
    script.write_text("#!/bin/sh\necho '[N/A]'\n")
    script.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UnavailableError, match="gives no energy"):
        find_counter(tmp_path / "absent").read_joules()
    script.write_text("#!/bin/sh\necho 2500\n")
    assert find_counter(tmp_path / "absent").read_joules() == pytest.approx(2.5)
