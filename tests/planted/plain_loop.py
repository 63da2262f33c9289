"""A small GAN in one plain loop, healthy unless `--fault` plants a bottleneck."""

import argparse
import json
import time
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, Dataset

SIZE = 32


class Faces(Dataset):
    def __init__(self, delay_s: float) -> None:
        self.pixels = torch.rand(512, 3, SIZE, SIZE, generator=torch.Generator().manual_seed(1)) * 2 - 1
        self.delay_s = delay_s

    def __len__(self) -> int:
        return len(self.pixels)

    def __getitem__(self, index: int) -> Tensor:
        if self.delay_s:
            time.sleep(self.delay_s)
        return self.pixels[index]


class Item(nn.Module):
    """Looks at a value of what passes through, as a check for NaN would."""

    def forward(self, x: Tensor) -> Tensor:
        assert x.flatten()[0].item() == x.flatten()[0].item()
        return x


class Attention(nn.Module):
    def __init__(self, channels: int) -> None:
        super().__init__()
        self.parts = nn.Linear(channels, 3 * 96)
        self.out = nn.Linear(96, channels)

    def forward(self, x: Tensor) -> Tensor:
        tokens = F.avg_pool2d(x, (1, 2)).flatten(2).transpose(1, 2)
        query, key, value = self.parts(tokens).chunk(3, dim=-1)
        weights = torch.softmax(query @ key.transpose(1, 2), dim=-1)
        return x + self.out(weights @ value).mean(dim=(1, 2))[:, None, None, None]


class PingPong(nn.Module):
    """Changes the layout of what passes through, back and forth."""

    def forward(self, x: Tensor) -> Tensor:
        for _ in range(6):
            x = x.to(memory_format=torch.channels_last).contiguous()
        return x


class Wide(nn.Module):
    """Computes in float64."""

    def __init__(self, body: nn.Module) -> None:
        super().__init__()
        self.body = body.double()

    def forward(self, x: Tensor) -> Tensor:
        return self.body(x.double()).float()


def build_generator(faults: frozenset[str]) -> nn.Module:
    layers: list[nn.Module] = [nn.ConvTranspose2d(64, 64, 4), nn.BatchNorm2d(64), nn.ReLU()]
    for wide, thin in ((64, 48), (48, 32)):
        layers += [nn.ConvTranspose2d(wide, thin, 4, 2, 1), nn.BatchNorm2d(thin), nn.ReLU()]
        if "layout" in faults:
            layers.append(PingPong())
        if "item" in faults:
            layers.append(Item())
    layers += [nn.ConvTranspose2d(32, 3, 4, 2, 1), nn.Tanh()]
    body = nn.Sequential(*layers)
    return Wide(body) if "float64" in faults else body


def build_discriminator(faults: frozenset[str]) -> nn.Module:
    layers: list[nn.Module] = [nn.Conv2d(3, 32, 4, 2, 1), nn.LeakyReLU(0.2)]
    if "attention" in faults:
        layers.insert(0, Attention(3))
    if "layout" in faults:
        layers.append(PingPong())
    if "item" in faults:
        layers.append(Item())
    layers += [nn.Conv2d(32, 48, 4, 2, 1), nn.LeakyReLU(0.2), nn.Conv2d(48, 64, 4, 2, 1), nn.LeakyReLU(0.2)]
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(64 * 16, 1))


def augment(x: Tensor, faults: frozenset[str]) -> Tensor:
    if "augment" in faults:
        time.sleep(0.15)
    return x


def smooth(x: Tensor) -> Tensor:
    """Blur each channel of each sample by itself."""
    kernel = torch.full((1, 1, 3, 3), 1 / 9)
    for _ in range(8):
        out = torch.empty_like(x)
        for n in range(x.shape[0]):
            for c in range(x.shape[1]):
                out[n, c] = F.conv2d(x[n, c][None, None], kernel, padding=1)[0, 0]
        x = out
    return x


def perturb(x: Tensor, count: int) -> Tensor:
    """Add noise in thousands of tiny steps."""
    scale = torch.ones(8)
    for _ in range(count):
        scale = scale * 1.0001
    return x * (scale.mean() * 0 + 1)


def count_levels(x: Tensor) -> Tensor:
    """Count gray levels with 64-bit integers."""
    levels = (x.repeat(4, 1, 2, 2) * 127 + 128).long()
    total = torch.zeros_like(levels)
    for shift in range(12):
        total = total + levels * (shift + 1) - levels.clamp(0, 200 - shift)
    return total.sum()


def touch_memory() -> float:
    """Allocate a large buffer anew, as a careless replay buffer does."""
    return sum(float(torch.zeros(24_000_000)[::4096].sum()) for _ in range(6))


@torch.no_grad()
def compare_neighbors(fake: Tensor, real: Tensor) -> float:
    """Give the share of generated pictures that are as near to a real one as real ones are to each other."""
    known = real.repeat(24, 1, 1, 1).flatten(1)
    known = known + 0.01 * torch.randn_like(known)
    between = torch.cdist(known, known).fill_diagonal_(float("inf")).amin(1)
    return float((torch.cdist(fake.flatten(1), known).amin(1) < between.mean()).float().mean())


def penalize(discriminator: nn.Module, real: Tensor) -> Tensor:
    real = real.detach().requires_grad_(True)
    (gradient,) = torch.autograd.grad(discriminator(real).sum(), real, create_graph=True)
    return gradient.square().sum(dim=(1, 2, 3)).mean()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--fault", default="", help="faults, separated by commas")
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--times", type=Path, help="where to write the seconds at which steps ended")
    arguments = parser.parse_args()
    faults = frozenset(arguments.fault.split(","))
    torch.manual_seed(arguments.seed)
    if "threads" in faults:
        torch.set_num_threads(24)
    batch = 1 if "batch" in faults else arguments.batch
    generator, discriminator = build_generator(faults), build_discriminator(faults)
    g_optimizer = torch.optim.Adam(generator.parameters(), 2e-4, (0.0, 0.99))
    d_optimizer = torch.optim.Adam(discriminator.parameters(), 2e-4, (0.0, 0.99))
    faces = DataLoader(
        Faces(0.006 if "loader" in faults else 0),
        batch,
        shuffle=True,
        drop_last=True,
        num_workers=arguments.workers,
        persistent_workers=arguments.workers > 0,
    )
    step, times = 0, []
    while step < arguments.steps:
        for real in faces:
            real = augment(real, faults)
            if "loop" in faults:
                real = smooth(real)
            if "tiny" in faults:
                real = perturb(real, 6000)
            if "flood" in faults:
                real = perturb(real, 200_000)
            if "int64" in faults:
                count_levels(real)
            if "memory" in faults:
                touch_memory()
            fake = generator(torch.randn(batch, 64, 1, 1))
            d_optimizer.zero_grad()
            d_loss = F.softplus(discriminator(fake.detach())).mean() + F.softplus(-discriminator(real)).mean()
            if "r1" in faults or step % 16 == 0:
                d_loss = d_loss + penalize(discriminator, real)
            d_loss.backward()
            d_optimizer.step()
            g_optimizer.zero_grad()
            F.softplus(-discriminator(fake)).mean().backward()
            g_optimizer.step()
            if "metric" in faults:
                compare_neighbors(fake, real)
            step += 1
            times.append(time.perf_counter())
            if step >= arguments.steps:
                break
    if arguments.times is not None:
        arguments.times.write_text(json.dumps(times))


if __name__ == "__main__":
    main()
