"""What a launched script is told to record, as it travels in one environment variable."""

import json
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from gantune.errors import UsageError


@dataclass(frozen=True, kw_only=True)
class WatchOptions:
    """Say how many steps each stage takes; every stage ends early after `max_stage_s` with one step done.

    `folder` takes the record of every watched process. Stages follow each other: warm-up (not looked at),
    plain (timed), sampled (lines of Python), captured (every event). Short steps are repeated until a stage
    has taken `min_stage_s`, so that a mean means something.

    `remedies` are applied as soon as torch is there. With `is_stopping` the script ends after the last stage.
    """

    folder: Path
    warmup_steps: int = 3
    plain_steps: int = 4
    sampled_steps: int = 4
    captured_steps: int = 4
    min_stage_s: float = 0.25
    max_stage_s: float = 20.0
    is_stopping: bool = False
    remedies: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in ("warmup_steps", "plain_steps"):
            if getattr(self, name) < 1:
                raise UsageError(f"{name} is {getattr(self, name)}; at least one step is needed")

    def to_json(self) -> str:
        """Write the options as one line."""
        return json.dumps({**asdict(self), "folder": str(self.folder)})

    @classmethod
    def from_json(cls, text: str) -> "WatchOptions":
        """Read what `to_json` wrote."""
        values = {name: value for name, value in json.loads(text).items() if name in _NAMES}
        return cls(**{**values, "folder": Path(values["folder"]), "remedies": tuple(values["remedies"])})


_NAMES = {field.name for field in fields(WatchOptions)}
