"""Progress in one line: how far, how fast, how long still, and the numbers to watch."""

from gantune.training.game import Game
from gantune.training.memory_probe import Probe
from gantune.training.statistics import Statistics

_SHOWN = {"loss/generator": "G", "loss/discriminator": "D", "r1_penalty": "R1", "path_length": "path"}


def describe_tick(game: Game, statistics: Statistics, *, images_per_s: float, remaining_s: float) -> str:
    """Return one line for a person who is watching."""
    numbers = " ".join(
        f"{short} {statistics[name]['mean']:.3f}" for name, short in _SHOWN.items() if name in statistics
    )
    waited = statistics["ms/data_wait"]["mean"] / statistics["ms/step"]["mean"]
    return (
        f"{game.num_images / 1000:.1f} kimg  {images_per_s:.1f} images/s  "
        f"{format_duration(remaining_s)} left  {numbers}  p {game.augment.p:.3f}  data wait {waited:.1%}"
    )


def describe_probe(probe: Probe) -> str:
    """Return one line: the memory of each phase, and which is the worst."""
    phases = ", ".join(f"{phase.name} {phase.peak_bytes / 2**20:.0f}" for phase in probe.phases)
    return (
        f"batch {probe.batch} needs {probe.peak_bytes / 2**20:.0f} MiB of tensors "
        f"({probe.resident_bytes / 2**20:.0f} always; {phases}), most in {probe.worst.name}"
    )


def format_duration(seconds: float) -> str:
    """Write a duration as people read it: 1 h 05 min, 12 min, 40 s."""
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02d} min"
