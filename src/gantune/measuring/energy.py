"""The energy that a call takes, where the machine lets it be read: RAPL counters, or a GPU's by NVML."""

import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from gantune.errors import UnavailableError

RAPL_FOLDER = Path("/sys/class/powercap")
_MICRO = 1e-6
_MILLI = 1e-3


@dataclass(frozen=True)
class EnergyCounter:
    """A counter of joules that only grows between two readings; `source` says which."""

    source: str
    read_joules: Callable[[], float]


def find_counter(rapl: Path = RAPL_FOLDER) -> EnergyCounter:
    """Find the machine's counter; raise `UnavailableError`, with the reason, where there is none."""
    packages = sorted(rapl.glob("intel-rapl:[0-9]*/energy_uj")) if rapl.is_dir() else []
    packages = [path for path in packages if path.parent.name.count(":") == 1]
    if packages:
        try:
            [path.read_text() for path in packages]
        except PermissionError:
            raise UnavailableError(
                f"{packages[0]} may be read by root alone; give it read permission, or run as root."
            ) from None
        return EnergyCounter("RAPL, processor packages", lambda: _read_rapl(packages))
    if shutil.which("nvidia-smi"):
        return EnergyCounter("NVML, total energy of the GPU", _read_nvml)
    raise UnavailableError("not available: this machine shows neither RAPL counters nor an NVIDIA GPU.")


def measure_joules(counter: EnergyCounter, call: Callable[[], object], *, num_calls: int) -> float:
    """Give the joules of one call, over `num_calls`, of all that the counter covers."""
    before = counter.read_joules()
    for _ in range(num_calls):
        call()
    return (counter.read_joules() - before) / num_calls


def _read_rapl(packages: list[Path]) -> float:
    return sum(int(path.read_text()) for path in packages) * _MICRO


def _read_nvml() -> float:
    query = ["nvidia-smi", "--query-gpu=total_energy_consumption", "--format=csv,noheader,nounits"]
    answer = subprocess.run(query, capture_output=True, text=True, check=False)
    try:
        return sum(float(line) for line in answer.stdout.split()) * _MILLI
    except ValueError:
        raise UnavailableError(f"nvidia-smi gives no energy: {answer.stdout.strip()[:80]}") from None
