"""Goes with a training script through warm-up, plain, sampled and captured steps, and writes what it saw."""

import json
import os
import resource
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from torch import Tensor, nn
from torch.optim import Optimizer

from gantune.machine.whole_files import write_text
from gantune.measuring.clock import read_clock_ns
from gantune.measuring.process_facts import (
    count_minor_faults,
    read_peak_bytes,
    read_resident_bytes,
    read_run_delay_ns,
)
from gantune.profiling.launch.facts import (
    count_gradients,
    describe_loader,
    describe_optimizer,
    first_size,
    list_reference_operations,
    read_settings,
)
from gantune.profiling.launch.options import WatchOptions
from gantune.profiling.launch.players import Players, tensors_in
from gantune.profiling.launch.sampler import LineSampler, Sample
from gantune.profiling.launch.stacks import StackReader
from gantune.profiling.launch.step_finder import Source, StepFinder
from gantune.profiling.launch.taps import Taps
from gantune.profiling.launch.window import CaptureWindow
from gantune.profiling.phases import is_step_range

Stage = Literal["warm-up", "plain", "sampled", "captured", "done"]
_ORDER: tuple[Stage, ...] = ("warm-up", "plain", "sampled", "captured")
_MAX_STEPS = 64
# There is one recording in a process: a range that was open when one ended would, in a second, be written to
# where the first one's memory was. So it is bounded while it goes on, by time and by the memory it takes: the
# file it passes through is smaller than that, and the trace that is kept has at most its longest events.
_CAPTURE_LIMITS_S = (2.5, 30.0)
_MAX_GROWTH_BYTES = 250_000_000
# Long enough to see what happens every 16th step, where steps are short.
_MIN_CAPTURE_S = 1.2
_MAX_CAPTURED = 17
_MAX_LOSSES = 20_000


@dataclass
class _Counts:
    """What the operating system has counted when a stage began."""

    minor_faults: int
    system_s: float
    run_delay_ns: int


@dataclass
class _Seen:
    """What a stage has seen: step boundaries, and in the captured one every event."""

    boundaries: list[int] = field(default_factory=list)
    optimizer_steps: list[tuple[int, int, int]] = field(default_factory=list)
    loads: list[tuple[int, int]] = field(default_factory=list)
    backwards: list[tuple[int, int]] = field(default_factory=list)
    grads: list[tuple[int, int, bool, bool]] = field(default_factory=list)
    no_grads: list[tuple[int, int, str | None]] = field(default_factory=list)
    roots: list[tuple[int, bool, int, int]] = field(default_factory=list)
    modules: list[tuple[str, int, int]] = field(default_factory=list)
    samples: list[Sample] = field(default_factory=list)
    peak_bytes: int = 0


class Recorder:
    """The listener of one process; `on_done` is called after its last stage with the record's path."""

    def __init__(self, options: WatchOptions, on_done: Callable[[], None]) -> None:
        self.stage: Stage = "warm-up"
        self.finder = StepFinder()
        self.options = options
        self.exception: str | None = None
        self._on_done = on_done
        self._taps = Taps(self)
        self._seen: dict[Stage, _Seen] = {"warm-up": _Seen()}
        self._optimizers: list[Optimizer] = []
        self._trained: dict[int, int] = {}
        self._players = Players()
        self._stacks = StackReader()
        self._calls: list[tuple[int, int, int, bool]] = []
        self._losses: list[tuple[int, Tensor]] = []
        self._facts: dict[str, object] = {"remedies": list(options.remedies)}
        self._sampler: LineSampler | None = None
        self._window: CaptureWindow | None = None
        self._folder = options.folder / str(os.getpid())
        self._optimizer_start_ns = self._stage_start_ns = 0
        self._thread_id = threading.get_native_id()
        self._began: _Counts = _read_counts()

    def begin(self) -> None:
        """Start to listen."""
        self._taps.add()

    def forget(self) -> None:
        """Stop listening in a child process that was forked off."""
        self._taps.remove()
        self.stage = "done"

    def note(self, name: str, value: object) -> None:
        """Put a fact into the record."""
        self._facts[name] = value

    def on_optimizer_start(self, optimizer: Optimizer) -> None:
        """Take the time, and at first how many weights have a gradient."""
        if self.stage == "warm-up":
            self._trained[id(optimizer)] = count_gradients(optimizer)
        self._optimizer_start_ns = read_clock_ns()

    def on_optimizer_end(self, optimizer: Optimizer) -> None:
        """Take an optimizer's step, which may end the script's step."""
        number = next((place for place, one in enumerate(self._optimizers) if one is optimizer), -1)
        if number < 0:
            number = len(self._optimizers)
            self._optimizers.append(optimizer)
        self._now.optimizer_steps.append((number, self._optimizer_start_ns, read_clock_ns()))
        self._see("optimizer", number)

    def on_load(self, iterator: object, batch: object, start_ns: int) -> None:
        """Take a batch of a DataLoader."""
        if "loader" not in self._facts:
            self._facts["loader"] = describe_loader(iterator, batch)
        self._now.loads.append((start_ns, read_clock_ns()))
        self._see("loader")

    def on_backward(self, tensors: object, start_ns: int) -> None:
        """Take a backward pass with its loss."""
        self._now.backwards.append((start_ns, read_clock_ns()))
        for tensor in tensors_in(tensors):
            if tensor.numel() == 1 and len(self._losses) < _MAX_LOSSES:
                self._losses.append((self.finder.num_steps, tensor.detach()))
        self._see("backward")

    def on_grad(self, outputs: object, inputs: object, is_differentiable: bool, start_ns: int) -> None:
        """Take a gradient, which is a penalty's where it can be differentiated again."""
        is_image = any(tensor.dim() >= 4 for tensor in tensors_in(inputs))
        self._now.grads.append((start_ns, read_clock_ns(), is_differentiable, is_image))

    def on_no_grad(self, start_ns: int) -> None:
        """Take a region in which nothing is differentiated."""
        end_ns, place = read_clock_ns(), self._stacks.read(sys._getframe())
        self._now.no_grads.append((start_ns, end_ns, None if place is None else place.line))

    def on_range(self, name: str) -> None:
        """Take the beginning of a range, which may be a trainer's own step."""
        if is_step_range(name):
            self._see("range")

    def on_module_start(self, module: nn.Module, inputs: tuple[object, ...]) -> None:
        """Take the beginning of a forward pass."""
        number, is_leaf = -1, False
        if not self._calls:
            number = self._players.enter(module, inputs)
            is_leaf = any(tensor.requires_grad and tensor.is_leaf for tensor in tensors_in(inputs))
            self._facts.setdefault("batch_size", first_size(inputs))
        self._calls.append((id(module), read_clock_ns(), number, is_leaf))

    def on_module_end(self, module: nn.Module, output: object) -> None:
        """Take the end of a forward pass; passes that died in between are dropped."""
        while self._calls:
            identity, start, number, is_leaf = self._calls.pop()
            if identity != id(module):
                continue
            end = read_clock_ns()
            self._now.modules.append((self._players.paths.get(identity, type(module).__name__), start, end))
            if number >= 0:
                self._players.leave(number, output)
                self._now.roots.append((number, is_leaf, start, end))
            return

    def see_step(self) -> None:
        """Take the word of the script's own code that a step is over."""
        self._see("explicit")

    def end_step(self) -> None:
        """Say that a step is over."""
        self._now.boundaries.append(read_clock_ns())
        if self.stage == "warm-up":
            if len(self._now.boundaries) > self.options.warmup_steps:
                self._enter_next()
        elif self._is_stage_over():
            self._enter_next()

    def finish(self) -> None:
        """Write what there is; called when the script ends before the last stage has."""
        if self.stage != "done":
            self._facts["is_cut"] = True
            self._close()

    @property
    def _now(self) -> _Seen:
        return self._seen.setdefault(self.stage, _Seen())

    def _see(self, source: Source, key: int = 0) -> None:
        if self.stage == "done":
            return
        before = self.finder.generation
        is_end = self.finder.see(source, key)
        if self.stage == "warm-up" and self.finder.generation != before:
            self._now.boundaries.clear()
            self._losses.clear()
        if is_end:
            self.end_step()

    def _is_stage_over(self) -> bool:
        boundaries = self._now.boundaries
        num_steps = len(boundaries) - 1
        elapsed_s = (boundaries[-1] - self._stage_start_ns) / 1e9
        if self.stage == "captured":
            # The first step warms the profiler up.
            num_steps -= 1
            is_enough = elapsed_s >= _MIN_CAPTURE_S or num_steps >= _MAX_CAPTURED
            is_next_too_long = elapsed_s * (num_steps + 2) / (num_steps + 1) > self._capture_limit_s()
            return is_next_too_long or (num_steps >= self._wanted() and is_enough)
        is_enough = elapsed_s >= self.options.min_stage_s or num_steps >= _MAX_STEPS
        return (num_steps >= self._wanted() and is_enough) or elapsed_s >= self.options.max_stage_s

    def _wanted(self) -> int:
        return {
            "plain": self.options.plain_steps,
            "sampled": self.options.sampled_steps,
            "captured": self.options.captured_steps,
        }.get(self.stage, 0)

    def _enter_next(self) -> None:
        if self.stage == "plain":
            self._keep_counts()
        self._stop_sampler()
        while self.stage != "captured":
            self.stage = _ORDER[_ORDER.index(self.stage) + 1]
            if self._wanted():
                self._start_stage()
                return
        self._close()
        self._on_done()

    def _start_stage(self) -> None:
        if self.stage == "captured":
            self._start_window()
        if self.stage in ("sampled", "captured"):
            self._sampler = LineSampler(threading.get_ident())
            self._sampler.start()
        self._began = _read_counts()
        self._thread_id = threading.get_native_id()
        self._stage_start_ns = read_clock_ns()
        self._now.boundaries.append(self._stage_start_ns)

    def _start_window(self) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        sampled = self._seen.get("sampled")
        usual = max((sampled.peak_bytes if sampled is not None else 0), read_resident_bytes())
        window = CaptureWindow(
            max_s=self._capture_limit_s(),
            max_bytes=usual + _MAX_GROWTH_BYTES,
            on_limit=self._stop_at_limit,
        )
        problem = window.start()
        if problem is not None:
            self._facts["problem"] = problem
            return
        self._window = window
        self._taps.add_modules()

    def _capture_limit_s(self) -> float:
        """Leave room for two steps, as long as a step took without the profiler."""
        boundaries = self._seen["plain"].boundaries
        step_s = (boundaries[-1] - boundaries[0]) / 1e9 / max(len(boundaries) - 1, 1)
        low, high = _CAPTURE_LIMITS_S
        return min(max(3 * step_s, low), high)

    def _stop_sampler(self) -> None:
        if self._sampler is not None:
            self._now.samples = self._sampler.stop()
            self._now.peak_bytes, self._sampler = self._sampler.peak_bytes, None

    def _keep_counts(self) -> None:
        now, num_steps = _read_counts(), max(len(self._now.boundaries) - 1, 1)
        self._facts["minor_faults"] = (now.minor_faults - self._began.minor_faults) / num_steps
        self._facts["system_ms"] = (now.system_s - self._began.system_s) * 1e3 / num_steps
        wall_ns = max(read_clock_ns() - self._stage_start_ns, 1)
        self._facts["run_delay_share"] = (now.run_delay_ns - self._began.run_delay_ns) / wall_ns

    def _stop_at_limit(self) -> None:
        """End a recording inside of a step that is longer than it may be."""
        self._facts["is_limited"] = True
        self._now.boundaries.append(read_clock_ns())
        self._enter_next()

    def _close(self) -> None:
        """Take every hook out, write the trace and the record."""
        self._stop_sampler()
        window_end_ns = read_clock_ns()
        self._taps.remove()
        reached, self.stage = self.stage, "done"
        self._folder.mkdir(parents=True, exist_ok=True)
        size = 0 if self._window is None else self._window.stop(self._folder / "trace.json")
        self._facts |= read_settings() | {
            "stage": reached,
            "source": self.finder.source,
            "num_steps": self.finder.num_steps,
            "trace_bytes": size,
            "window_end_ns": window_end_ns,
            "peak_bytes": read_peak_bytes(),
            "exception": self.exception,
            "optimizers": [
                describe_optimizer(one, num_trained=self._trained.get(id(one), 0)) for one in self._optimizers
            ],
            "roles": self._players.name_roles(self._optimizers),
            "root_owners": self._players.name_owners(self._optimizers),
            "thread_id": self._thread_id,
            "reference_operations": list_reference_operations(),
            "losses": [(step, float(loss)) for step, loss in self._losses],
            "stages": {name: vars(seen) for name, seen in self._seen.items()},
        }
        write_text(self._folder / "record.json", json.dumps(self._facts))


def _read_counts() -> _Counts:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return _Counts(count_minor_faults(), usage.ru_stime, read_run_delay_ns())
