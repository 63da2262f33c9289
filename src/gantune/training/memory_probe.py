"""What each phase of a step needs, measured on networks that are thrown away, before the run begins."""

from dataclasses import dataclass

import psutil
import torch

from gantune.errors import UnavailableError
from gantune.measuring.live_bytes import LiveBytes
from gantune.measuring.stopwatch import Stopwatch
from gantune.ops import use_implementation
from gantune.training.game import Game, start_game
from gantune.training.layout import keep_channels_last
from gantune.training.options import Recipe, SpeedOptions
from gantune.training.peers import Peers
from gantune.training.phases import PhaseName, plan_phases
from gantune.training.players import build_players
from gantune.training.shapes import ImageShape
from gantune.training.step import RealBatch, StepContext, run_phase

_RESERVE = 0.9


@dataclass(frozen=True)
class PhaseCost:
    """The peak of live tensors in a phase beyond those that live all the time, and the phase's time."""

    name: PhaseName
    peak_bytes: int
    ms: float
    interval: int


@dataclass(frozen=True)
class Probe:
    """All phases of one batch size; `resident_bytes` are networks, average, gradients and optimizers."""

    batch: int
    resident_bytes: int
    phases: tuple[PhaseCost, ...]

    @property
    def worst(self) -> PhaseCost:
        """Name the phase that needs the most memory."""
        return max(self.phases, key=lambda phase: phase.peak_bytes)

    @property
    def peak_bytes(self) -> int:
        """Give what a run needs at its worst moment."""
        return self.resident_bytes + self.worst.peak_bytes

    @property
    def images_per_s(self) -> float:
        """Give the throughput, each phase weighed by how often it runs."""
        return self.batch / sum(phase.ms / phase.interval for phase in self.phases) * 1000


def probe_phases(
    recipe: Recipe, speed: SpeedOptions, images: ImageShape, *, peers: Peers | None = None
) -> Probe:
    """Run every phase twice on random images, the second time watched."""
    peers = peers or Peers()
    players = build_players(recipe.shape, images, seed=recipe.seed)
    if speed.channels_last:
        keep_channels_last(players.generator)
        keep_channels_last(players.discriminator)
    game = start_game(players, recipe, fused_optimizer=speed.fused_optimizer)
    phases = plan_phases(recipe, players.generator)
    labels = torch.eye(max(images.label_dim, 1))[:, : images.label_dim]
    # One process alone: nothing is exchanged while probing.
    context = StepContext(phases, speed, Peers(), labels)
    count = recipe.batch // peers.world_size
    shape = (count, images.channels, images.resolution, images.resolution)
    real = RealBatch(torch.rand(shape) * 2 - 1, labels[torch.arange(count) % len(labels)])
    costs = []
    with use_implementation(speed.implementation):
        for phase in phases:
            watch = Stopwatch()
            run_phase(phase, game, real, context)
            ms = watch.lap_ms()
            with LiveBytes() as live:
                run_phase(phase, game, real, context)
            costs.append(PhaseCost(phase.name, live.peak_bytes, ms, phase.interval))
    return Probe(recipe.batch, _resident_bytes(game), tuple(costs))


def check_memory(probe: Probe) -> None:
    """Raise `UnavailableError` where the worst phase would not fit into the memory that is free now."""
    free = psutil.virtual_memory().available
    if probe.peak_bytes > _RESERVE * free:
        raise UnavailableError(
            f"A batch of {probe.batch} needs {probe.peak_bytes / 2**30:.1f} GiB, in the phase "
            f"{probe.worst.name}; {free / 2**30:.1f} GiB are free. Take a smaller --batch, or a larger "
            "--accumulation."
        )


def _resident_bytes(game: Game) -> int:
    """Count networks, gradients (as large as the parameters) and optimizer states."""
    networks = (game.players.generator, game.players.discriminator, game.players.average)
    tensors = [item for network in networks for item in network.state_dict().values()]
    for optimizer in (game.g_optimizer, game.d_optimizer):
        for state in optimizer.state_dict()["state"].values():
            tensors += list(state.values())
    return sum(tensor.numel() * tensor.element_size() for tensor in tensors)
