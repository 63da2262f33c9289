"""Where one training step ends and the next begins, from what every script does somewhere."""

from typing import Literal

Source = Literal["explicit", "range", "optimizer", "backward", "loader"]
# The first that a script shows decides: its own word, a trainer's ranges, optimizers, backwards, batches.
SOURCES: tuple[Source, ...] = ("explicit", "range", "optimizer", "backward", "loader")


class StepFinder:
    """Tell step boundaries from a stream of events.

    GAN scripts step several optimizers in turn. Repeats of one optimizer in a row (several critic steps,
    lazy regularization) count as one; the boundary is the optimizer with the fewest such runs, the last of
    the round where they are equal. Until that is settled, `num_steps` starts anew with a new `generation`.
    """

    def __init__(self) -> None:
        self.source: Source | None = None
        self.num_steps = 0
        self.generation = 0
        self._runs: dict[int, int] = {}
        self._last: int | None = None
        self._anchor: int | None = None

    def see(self, source: Source, key: int = 0) -> bool:
        """Take one event and say whether a step ends with it."""
        if self.source is None or SOURCES.index(source) < SOURCES.index(self.source):
            self.source = source
            self._start_anew()
            self._runs, self._last, self._anchor = {}, None, None
        elif source != self.source:
            return False
        is_new_run = key != self._last or len(self._runs) == 1
        self._last = key
        if not is_new_run:
            return False
        self._runs[key] = self._runs.get(key, 0) + 1
        place = {name: number for number, name in enumerate(self._runs)}
        anchor = min(self._runs, key=lambda name: (self._runs[name], -place[name]))
        if anchor != self._anchor:
            is_settled = self._anchor is not None and len(self._runs) > 1 and self._runs[anchor] > 1
            self._anchor = anchor
            if not is_settled:
                self._start_anew()
        if key != anchor:
            return False
        self.num_steps += 1
        return True

    def _start_anew(self) -> None:
        self.num_steps = 0
        self.generation += 1
