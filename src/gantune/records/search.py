"""How a run searched: who was stopped early, which changes were tried on the leader, and why it ended."""

from pydantic import BaseModel, ConfigDict

from gantune.records.candidate import Interval


class Change(BaseModel):
    """One change tried on the leading candidate, measured beside it in the same rounds.

    `gain` is the paired speedup (or, for the goals memory and size, the ratio of the figures) over the
    leader before it; None where it could not be measured. The bottlenecks are those of the leader before the
    change, and after it was kept.
    """

    model_config = ConfigDict(frozen=True)

    name: str
    candidate: str
    why: str
    gain: Interval | None
    is_kept: bool
    reason: str
    bottleneck_before: str = ""
    bottleneck_after: str = ""


class Search(BaseModel):
    """The course of the search.

    `stopped` maps a candidate to the reason why it was not timed to the end. `num_reused` counts builds that
    an earlier run had left in the cache. `end` says why no further change was tried.
    """

    model_config = ConfigDict(frozen=True)

    num_built: int
    num_reused: int
    stopped: dict[str, str] = {}
    changes: tuple[Change, ...] = ()
    end: str = ""
