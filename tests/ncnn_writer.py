"""Write ncnn .param/.bin pairs, from the layout alone: the counterpart the reader is tested against."""

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

LEAKY = "9=2 -23310=1,2.000000e-01"


@dataclass
class NcnnWriter:
    """Collect layers and weights; `half` stores the weights of convolutions as fp16."""

    half: bool = False
    lines: list[str] = field(default_factory=lambda: ["Input in 0 1 data"])
    weights: bytearray = field(default_factory=bytearray)

    def layer(self, kind: str, sources: list[str], params: str) -> str:
        name = f"{kind}_{len(self.lines)}"
        blobs = " ".join([*sources, name])
        self.lines.append(f"{kind} {name} {len(sources)} 1 {blobs} {params}".rstrip())
        return name

    def convolve(self, source: str, weight: Tensor, bias: Tensor, extra: str = "") -> str:
        values = weight.numpy().astype("<f2" if self.half else "<f4").tobytes()
        self.weights += (0x01306B47 if self.half else 0).to_bytes(4, "little")
        self.weights += values + b"\0" * (-len(values) % 4) + bias.numpy().astype("<f4").tobytes()
        return self.layer(
            "Convolution", [source], f"0={weight.shape[0]} 1=3 4=1 5=1 6={weight.numel()} {extra}"
        )

    def split(self, source: str, count: int) -> list[str]:
        outputs = [f"{source}_copy{index}" for index in range(count)]
        self.lines.append(f"Split split{len(self.lines)} 1 {count} {source} {' '.join(outputs)}")
        return outputs

    def save(self, folder: Path, name: str = "model") -> Path:
        path = folder / f"{name}.param"
        path.write_text("\n".join(["7767517", f"{len(self.lines)} {len(self.lines)}", *self.lines]) + "\n")
        path.with_suffix(".bin").write_bytes(bytes(self.weights))
        return path


def write_srvgg(folder: Path, state: dict[str, Tensor], *, scale: int, half: bool = False) -> Path:
    """Write an SRVGG from weights named `body.N.…`."""
    writer = NcnnWriter(half=half)
    copies = writer.split("data", 2)
    last = copies[0]
    position = 0
    while f"body.{position}.weight" in state:
        weight = state[f"body.{position}.weight"]
        if weight.dim() == 4:
            last = writer.convolve(last, weight, state[f"body.{position}.bias"])
        else:
            writer.weights += weight.numpy().astype("<f4").tobytes()
            last = writer.layer("PReLU", [last], f"0={len(weight)}")
        position += 1
    shuffled = writer.layer("PixelShuffle", [last], f"0={scale}")
    enlarged = writer.layer("Interp", [copies[1]], f"0=1 1={scale:e} 2={scale:e}")
    writer.layer("BinaryOp", [shuffled, enlarged], "0=0")
    return writer.save(folder)


def write_rrdb(folder: Path, state: dict[str, Tensor], *, num_block: int, half: bool = False) -> Path:
    """Write an RRDB network of scale 4 from weights under BasicSR's names."""
    writer = NcnnWriter(half=half)

    def convolve(name: str, source: str, extra: str = "") -> str:
        return writer.convolve(source, state[f"{name}.weight"], state[f"{name}.bias"], extra)

    first = last = convolve("conv_first", "data")
    for block in range(num_block):
        block_input = last
        for dense in (1, 2, 3):
            features = [last]
            for conv in (1, 2, 3, 4):
                stacked = writer.layer("Concat", features, "0=0") if len(features) > 1 else last
                features.append(convolve(f"body.{block}.rdb{dense}.conv{conv}", stacked, LEAKY))
            detail = convolve(f"body.{block}.rdb{dense}.conv5", writer.layer("Concat", features, ""))
            last = writer.layer("Eltwise", [detail, last], "0=1 -23301=2,2.000000e-01,1.000000e+00")
        last = writer.layer("Eltwise", [last, block_input], "0=1 -23301=2,2.000000e-01,1.000000e+00")
    last = writer.layer("BinaryOp", [first, convolve("conv_body", last)], "")
    for step in (1, 2):
        last = convolve(f"conv_up{step}", writer.layer("Interp", [last], "0=1 1=2.0 2=2.0"), LEAKY)
    convolve("conv_last", convolve("conv_hr", last, LEAKY))
    return writer.save(folder)


def random_srvgg_state(*, width: int = 5, num_conv: int = 2, scale: int = 2) -> dict[str, Tensor]:
    """Draw weights of an SRVGG that fp16 holds exactly; odd counts make the padding of fp16 matter."""
    generator = torch.Generator().manual_seed(0)
    state: dict[str, Tensor] = {}
    widths = [3, *[width] * (num_conv + 1), 3 * scale**2]
    for position in range(num_conv + 2):
        shape = (widths[position + 1], widths[position], 3, 3)
        state[f"body.{2 * position}.weight"] = _draw(shape, generator)
        state[f"body.{2 * position}.bias"] = torch.randn(shape[0], generator=generator)
        if position <= num_conv:
            state[f"body.{2 * position + 1}.weight"] = torch.rand(width, generator=generator)
    return state


def _draw(shape: tuple[int, ...], generator: torch.Generator) -> Tensor:
    values = torch.randn(shape, generator=generator) / 8
    return torch.from_numpy(values.numpy().astype(np.float16).astype(np.float32))
