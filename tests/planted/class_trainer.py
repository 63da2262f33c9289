"""A small conditional GAN with a trainer class, healthy unless `--fault` plants a bottleneck."""

import argparse
import time
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, Dataset

Batch = dict[str, Tensor]


@dataclass
class Settings:
    faults: frozenset[str] = frozenset()
    batch: int = 32
    width: int = 16
    latent: int = 48
    classes: int = 10
    steps: int = 60
    critic_updates: int = 2
    penalty_every: int = 16
    workers: int = 0
    seed: int = 0


class Pictures(Dataset[Batch]):
    """Pictures kept as bytes; packed ones have to be unpacked at every visit."""

    def __init__(self, settings: Settings) -> None:
        draw = np.random.default_rng(settings.seed)
        self.pixels = draw.integers(0, 256, (768, 3, 32, 32), dtype=np.uint8)
        self.labels = draw.integers(0, settings.classes, 768)
        self.packed = None
        if "loader" in settings.faults:
            self.packed = zlib.compress(draw.integers(0, 4, 1_500_000, dtype=np.uint8).tobytes(), 1)

    def __len__(self) -> int:
        return len(self.pixels)

    def __getitem__(self, index: int) -> Batch:
        if self.packed is not None:
            zlib.decompress(self.packed)
        picture = torch.from_numpy(self.pixels[index]).float().div_(127.5).sub_(1)
        return {"picture": picture, "label": torch.tensor(self.labels[index])}


class UpBlock(nn.Module):
    """A residual block that doubles the size."""

    def __init__(self, inner: int, outer: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(inner, outer, 3, padding=1)
        self.second = nn.Conv2d(outer, outer, 3, padding=1)
        self.skip = nn.Conv2d(inner, outer, 1)
        self.norms = nn.ModuleList([nn.BatchNorm2d(inner), nn.BatchNorm2d(outer)])

    def forward(self, x: Tensor) -> Tensor:
        wide = F.interpolate(F.relu(self.norms[0](x)), scale_factor=2)
        out = self.second(F.relu(self.norms[1](self.first(wide))))
        return out + self.skip(F.interpolate(x, scale_factor=2))


class DownBlock(nn.Module):
    """A residual block that halves the size."""

    def __init__(self, inner: int, outer: int, norm: nn.Module) -> None:
        super().__init__()
        self.first = nn.Conv2d(inner, outer, 3, padding=1)
        self.second = nn.Conv2d(outer, outer, 3, padding=1)
        self.skip = nn.Conv2d(inner, outer, 1)
        self.norm = norm

    def forward(self, x: Tensor) -> Tensor:
        out = self.second(F.relu(self.norm(self.first(F.relu(x)))))
        return F.avg_pool2d(out, 2) + self.skip(F.avg_pool2d(x, 2))


class ChannelNorm(nn.Module):
    """Normalizes over channels in the layout where they are last, and goes back."""

    def forward(self, x: Tensor) -> Tensor:
        for _ in range(5):
            x = x.permute(0, 2, 3, 1).contiguous().permute(0, 3, 1, 2).contiguous()
        return x / x.square().mean(1, keepdim=True).add(1e-6).sqrt()


class Gaze(nn.Module):
    """Attention over all pixels, heads and weights spelled out."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.attend = nn.MultiheadAttention(channels, 4, batch_first=True)

    def forward(self, x: Tensor) -> Tensor:
        tokens = x.flatten(2).transpose(1, 2)[:, ::2]
        seen, _ = self.attend(tokens, tokens, tokens)
        return x + seen.mean(1)[:, :, None, None]


class Painter(nn.Module):
    def __init__(self, settings: Settings) -> None:
        super().__init__()
        width = settings.width
        self.name_of_class = nn.Embedding(settings.classes, settings.latent)
        self.start = nn.Linear(2 * settings.latent, 2 * width * 16)
        self.blocks = nn.Sequential(UpBlock(2 * width, width), UpBlock(width, width), UpBlock(width, width))
        self.to_picture = nn.Conv2d(width, 3, 3, padding=1)

    def forward(self, latent: Tensor, label: Tensor) -> Tensor:
        joined = torch.cat([latent, self.name_of_class(label)], 1)
        return torch.tanh(self.to_picture(F.relu(self.blocks(self.start(joined).unflatten(1, (-1, 4, 4))))))


class Judge(nn.Module):
    def __init__(self, settings: Settings) -> None:
        super().__init__()
        width, faults = settings.width, settings.faults
        norm = ChannelNorm if "layout" in faults else nn.Identity
        self.look = Gaze(16) if "attention" in faults else nn.Identity()
        self.from_picture = nn.Conv2d(3, 16, 3, padding=1)
        self.blocks = nn.Sequential(
            DownBlock(16, width, norm()), DownBlock(width, width, norm()), DownBlock(width, width, norm())
        )
        self.score = nn.Linear(width, 1)
        self.match = nn.Embedding(settings.classes, width)

    def forward(self, picture: Tensor, label: Tensor) -> Tensor:
        seen = F.relu(self.blocks(self.look(self.from_picture(picture)))).sum((2, 3))
        return self.score(seen)[:, 0] + (seen * self.match(label)).sum(1)


class WideJudge(nn.Module):
    """A judge that was built while the default type was float64."""

    def __init__(self, settings: Settings) -> None:
        super().__init__()
        torch.set_default_dtype(torch.float64)
        self.inner = Judge(settings)
        torch.set_default_dtype(torch.float32)

    def forward(self, picture: Tensor, label: Tensor) -> Tensor:
        return self.inner(picture.double(), label).float()


class Augmentation:
    """What happens to a batch of real pictures before it is judged."""

    def __init__(self, settings: Settings) -> None:
        self.faults = settings.faults

    def __call__(self, picture: Tensor) -> Tensor:
        if "augment" in self.faults:
            time.sleep(0.15)
        if "loop" in self.faults:
            picture = self.equalize(picture)
        if "int64" in self.faults:
            picture = picture + 0 * self.posterize(picture)
        return torch.where(torch.rand(len(picture), 1, 1, 1) < 0.5, picture.flip(3), picture)

    def equalize(self, picture: Tensor) -> Tensor:
        """Bring each channel of each picture to one spread, one after the other."""
        for _ in range(12):
            for row in picture:
                for channel in row:
                    channel.sub_(channel.mean()).div_(channel.std() + 1e-3)
        return picture

    def posterize(self, picture: Tensor) -> Tensor:
        """Reduce the gray levels of enlarged pictures with 64-bit integers."""
        levels = F.interpolate(picture, scale_factor=4).mul(127).add(128).long()
        for bits in range(1, 9):
            levels = levels // bits * bits + (levels - levels.clamp(bits, 255 - bits))
        return levels.float().mean()


@dataclass
class Trainer:
    """Owns the networks and takes the steps."""

    settings: Settings
    history: list[Tensor] = field(default_factory=list)

    def __post_init__(self) -> None:
        torch.manual_seed(self.settings.seed)
        faults = self.settings.faults
        self.painter = Painter(self.settings)
        self.judge = WideJudge(self.settings) if "float64" in faults else Judge(self.settings)
        self.average = Painter(self.settings).requires_grad_(False)
        self.augmentation = Augmentation(self.settings)
        self.painting = torch.optim.Adam(self.painter.parameters(), 2e-4, (0.0, 0.9))
        self.judging = torch.optim.Adam(self.judge.parameters(), 4e-4, (0.0, 0.9))
        if "item" in faults:
            for network in (self.painter, self.judge):
                for layer in network.modules():
                    layer.register_forward_hook(self.watch)

    def watch(self, layer: nn.Module, inputs: object, output: Tensor) -> None:
        assert output.flatten()[0].item() < 1e9

    def batches(self) -> Iterator[Batch]:
        loader = DataLoader(
            Pictures(self.settings),
            self.settings.batch,
            shuffle=True,
            drop_last=True,
            num_workers=self.settings.workers,
            persistent_workers=self.settings.workers > 0,
        )
        while True:
            yield from loader

    def fit(self) -> None:
        batches = self.batches()
        for number in range(self.settings.steps):
            for _ in range(self.settings.critic_updates):
                self.update_judge(next(batches), number)
            self.update_painter()
            self.update_average()
            self.after_step()

    def paint(self) -> tuple[Tensor, Tensor]:
        label = torch.randint(self.settings.classes, (self.settings.batch,))
        return self.painter(torch.randn(self.settings.batch, self.settings.latent), label), label

    def update_judge(self, batch: Batch, number: int) -> None:
        real, label = self.augmentation(batch["picture"]), batch["label"]
        with torch.no_grad():
            fake, wanted = self.paint()
        loss = F.relu(1 - self.judge(real, label)).mean() + F.relu(1 + self.judge(fake, wanted)).mean()
        if number % self.settings.penalty_every == 0:
            loss = loss + self.steepness(real, label)
        self.judging.zero_grad()
        loss.backward()
        self.judging.step()

    def steepness(self, real: Tensor, label: Tensor) -> Tensor:
        real = real.detach().requires_grad_()
        (slope,) = torch.autograd.grad(self.judge(real, label).sum(), real, create_graph=True)
        return slope.square().flatten(1).sum(1).mean() * 5

    def update_painter(self) -> None:
        fake, label = self.paint()
        loss = -self.judge(fake, label).mean()
        self.painting.zero_grad()
        loss.backward()
        self.painting.step()
        if "memory" in self.settings.faults:
            self.remember(fake.detach())

    @torch.no_grad()
    def update_average(self) -> None:
        for kept, weight in zip(self.average.parameters(), self.painter.parameters(), strict=True):
            kept.lerp_(weight, 0.01)

    def remember(self, fake: Tensor) -> None:
        """Keep a long history of pictures, copied anew at each step."""
        if not self.history:
            self.history = [torch.zeros(12_000, 3, 32, 32)]
        self.history = [torch.cat([self.history[0][len(fake) :], fake])]

    def after_step(self) -> None:
        if "tiny" in self.settings.faults:
            self.anneal()
        if "metric" in self.settings.faults:
            self.estimate_distance()

    def estimate_distance(self) -> None:
        """Compare sorted projections of the averaged painter's pictures with others (sliced Wasserstein)."""
        with torch.inference_mode():
            label = torch.arange(96) % self.settings.classes
            fake = self.average(torch.randn(96, self.settings.latent), label).flatten(1)
            directions = torch.randn(fake.shape[1], 768)
            shadows = [(x @ directions).sort(0).values for x in (fake, torch.randn_like(fake))]
            self.distance = (shadows[0] - shadows[1]).abs().mean()

    def anneal(self) -> None:
        """Compute a schedule with tensors of one number."""
        rate = torch.tensor(1.0)
        for number in range(12_000):
            rate = rate * 0.9999 + number * 1e-9
        self.rate = rate


def read_settings() -> Settings:
    parser = argparse.ArgumentParser()
    parser.add_argument("--fault", default="", help="faults, separated by commas")
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    faults = frozenset(filter(None, given.fault.split(",")))
    if "threads" in faults:
        torch.set_num_threads(24)
    return Settings(
        faults=faults,
        batch=2 if "batch" in faults else given.batch,
        steps=given.steps,
        penalty_every=1 if "r1" in faults else 16,
        workers=given.workers,
        seed=given.seed,
    )


if __name__ == "__main__":
    Trainer(read_settings()).fit()
