"""The phases of a GAN's step, told from a real run in this process."""

from pathlib import Path

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from gantune.profiling.profiler import Profiler
from gantune.records.profile import Profile


class Generator(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.ConvTranspose2d(8, 3, 8)

    def forward(self, z: torch.Tensor) -> torch.Tensor:
        return self.layer(z)


class Judge(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer, self.out = nn.Conv2d(3, 16, 3), nn.Linear(16, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.out(F.softplus(self.layer(x)).mean(dim=(2, 3)))


def train(*, steps: int, penalty: str, profiler: Profiler) -> None:
    generator, judge = Generator(), Judge()
    average = Generator()
    g_optimizer = torch.optim.SGD(generator.parameters(), 1e-3)
    d_optimizer = torch.optim.SGD(judge.parameters(), 1e-3)
    for _ in range(steps):
        real = torch.randn(4, 3, 8, 8).requires_grad_(penalty != "none")
        fake = generator(torch.randn(4, 8, 1, 1))
        score = judge(real)
        loss = score.mean() - judge(fake.detach()).mean()
        if penalty == "joined":
            (gradient,) = torch.autograd.grad(score.sum(), real, create_graph=True)
            loss = loss + gradient.square().sum()
        d_optimizer.zero_grad()
        loss.backward()
        d_optimizer.step()
        if penalty == "alone":
            (gradient,) = torch.autograd.grad(judge(real).sum(), real, create_graph=True)
            d_optimizer.zero_grad()
            gradient.square().sum().backward()
            d_optimizer.step()
        g_optimizer.zero_grad()
        judge(fake).mean().backward()
        g_optimizer.step()
        with torch.no_grad():
            for mean, weight in zip(
                average.state_dict().values(), generator.state_dict().values(), strict=True
            ):
                for _ in range(4):
                    mean.lerp_(weight, 0.1)
        if penalty == "watched":
            watch(average)
        profiler.step()


@torch.no_grad()
def watch(average: nn.Module) -> None:
    """Look at pictures of a network that nothing trains."""
    torch.linalg.eigvals(torch.cov(average(torch.randn(64, 8, 1, 1)).flatten(1).T))


def profile_training(penalty: str) -> Profile:
    with Profiler(warmup=1, steps=2) as profiler:
        train(steps=140, penalty=penalty, profiler=profiler)
    assert profiler.profile is not None
    return profiler.profile


@pytest.fixture(scope="module")
def profiles() -> dict[str, Profile]:
    return {penalty: profile_training(penalty) for penalty in ("none", "joined", "alone", "watched")}


def shares(profile: Profile) -> dict[str, float]:
    return {phase.name: phase.share for phase in profile.phases}


@pytest.mark.slow
def test_phases_are_told_from_two_optimizers(profiles: dict[str, Profile]) -> None:
    found = shares(profiles["none"])
    assert {"G main", "D main", "optimizer", "EMA", "unattributed"} <= set(found)
    assert "R1" not in found
    assert sum(found.values()) == pytest.approx(1, abs=0.01)


@pytest.mark.slow
@pytest.mark.parametrize("penalty", ["joined", "alone"])
def test_a_gradient_that_is_differentiated_again_is_r1(profiles: dict[str, Profile], penalty: str) -> None:
    found = shares(profiles[penalty])
    assert found["R1"] > 0.1
    assert {"G main", "D main"} <= set(found)


@pytest.mark.slow
def test_what_runs_without_gradients_and_trains_nothing_is_a_metric(profiles: dict[str, Profile]) -> None:
    assert shares(profiles["watched"])["metrics"] > 0.5
    assert shares(profiles["none"]).get("metrics", 0.0) < 0.1
    found = profiles["watched"].findings[0]
    assert found.kind == "evaluation"
    assert found.evidence[-1].source_line is not None


@pytest.mark.slow
def test_the_profiler_writes_every_view_and_decorates(tmp_path: Path) -> None:
    profiler = Profiler(tmp_path / "out", warmup=1, steps=2)

    @profiler
    def run() -> int:
        train(steps=140, penalty="none", profiler=profiler)
        return 7

    assert run() == 7
    assert profiler.profile is not None
    assert profiler.profile.script is not None
    assert profiler.profile.script.step_source == "explicit"
    assert {path.name for path in (tmp_path / "out").iterdir()} >= {
        "profile.json",
        "profile.html",
        "trace.json.gz",
    }
