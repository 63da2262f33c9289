"""Two profiles side by side: what became faster or slower, by phase and by operator, and what is noise."""

import math
from collections.abc import Iterable
from pathlib import Path

import numpy as np
from pydantic import ValidationError

from gantune.errors import CheckpointError
from gantune.records.profile import Profile
from gantune.records.profile_comparison import ProfileComparison, TimeChange

# Where a profile has fewer than two steps, its noise is unknown; this is what steps commonly differ by.
ASSUMED_NOISE = 0.1
# A normal 95 % interval for the difference of two medians with the steps' own spread.
_Z = 1.96
NUM_OPERATORS = 25


def read_profile(path: Path) -> Profile:
    """Read profile.json, or the one in a folder; raise `CheckpointError` for anything else."""
    file = path / "profile.json" if path.is_dir() else path
    if not file.is_file():
        raise CheckpointError(
            f"There is no profile at {path}. Name a folder that gantune profile --out wrote."
        )
    try:
        return Profile.model_validate_json(file.read_bytes())
    except (ValidationError, UnicodeDecodeError) as error:
        reason = str(error).splitlines()[0]
        raise CheckpointError(
            f"{file} is no profile of this version ({reason}). Write it again with gantune profile --out."
        ) from error


def compare_profiles(before: Profile, after: Profile) -> ProfileComparison:
    """Compare the time a step (or a call) takes, in all and by wall part, phase, operator and layer.

    A change is significant where it exceeds the noise, which comes from the spread of the steps.
    """
    noise = math.hypot(_noise(before), _noise(after))
    return ProfileComparison(
        before=before.source,
        after=after.source,
        noise=noise,
        total=_change("step", _a_step(before, before.window_ms), _a_step(after, after.window_ms), noise),
        wall=_changes(before, after, "wall", noise),
        phases=_changes(before, after, "phases", noise),
        operators=_changes(before, after, "operators", noise)[:NUM_OPERATORS],
        layers=_changes(before, after, "layers", noise)[:NUM_OPERATORS],
        findings_gone=_difference(before, after),
        findings_new=_difference(after, before),
    )


def _noise(profile: Profile) -> float:
    """Give the half-width of the interval of the median step, as a part of it."""
    if len(profile.step_ms) < 2:
        return ASSUMED_NOISE
    steps = np.array(profile.step_ms)
    middle = float(np.median(steps))
    # The standard error of a median of normal values is 1.25 times that of the mean.
    return _Z * 1.25 * float(steps.std(ddof=1)) / math.sqrt(len(steps)) / middle if middle else ASSUMED_NOISE


def _a_step(profile: Profile, time_ms: float) -> float:
    return time_ms / max(profile.num_steps, 1)


def _times(profile: Profile, group: str) -> dict[str, float]:
    found: Iterable[tuple[str, float]]
    if group == "wall":
        found = ((part.name, part.time_ms) for part in profile.wall)
    elif group == "phases":
        found = ((phase.name, phase.host_ms) for phase in profile.phases)
    elif group == "operators":
        found = ((operator.name, operator.host_ms + operator.device_ms) for operator in profile.operators)
    else:
        found = ((layer.name, layer.time_ms) for layer in profile.layers)
    return {name: _a_step(profile, time_ms) for name, time_ms in found}


def _changes(before: Profile, after: Profile, group: str, noise: float) -> tuple[TimeChange, ...]:
    old, new = _times(before, group), _times(after, group)
    changes = [_change(name, old.get(name), new.get(name), noise) for name in dict.fromkeys([*old, *new])]
    return tuple(sorted(changes, key=lambda change: -abs(change.difference_ms)))


def _change(name: str, before_ms: float | None, after_ms: float | None, noise: float) -> TimeChange:
    old, new = before_ms or 0.0, after_ms or 0.0
    return TimeChange(
        name=name,
        before_ms=before_ms,
        after_ms=after_ms,
        difference_ms=new - old,
        is_significant=abs(new - old) > noise * max(old, new),
    )


def _difference(one: Profile, other: Profile) -> tuple[str, ...]:
    known = {finding.kind for finding in other.findings}
    return tuple(finding.kind for finding in one.findings if finding.kind not in known)
