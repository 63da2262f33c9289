"""Read StyleGAN2 checkpoints of rosinality's code base (`g`, `g_ema`, `d`, `latent_avg`) as the `stylegan2`
family.

The code bases differ in where constants stand: there a convolution's weight is × 1/√(in·k²) before modulation
and demodulation, so it is stored here with that factor; stored generator kernels contain the up-sampling gain
of 4.
"""

import re
from collections.abc import Mapping
from math import log2, sqrt

import torch
import torch.nn.functional as F
from torch import Tensor

from gantune.checkpoints.channel_widths import fit_channel_widths
from gantune.checkpoints.checkpoint_file import CheckpointFile
from gantune.checkpoints.content import CheckpointContent, Format, NetworkContent, Role
from gantune.checkpoints.inert import AttributeRecord, describe_value
from gantune.checkpoints.state_dict import find_state_dict
from gantune.errors import CheckpointError
from gantune.networks.contract import Config

_ROLES: dict[Role, str] = {"generator": "g_ema", "raw_generator": "g", "discriminator": "d"}
_MAPPING_LR = 0.01
_UP_GAIN = 4
_AVERAGED_LATENTS = 10_000


def _is_generator(state: Mapping[str, Tensor] | None) -> bool:
    marks = {"conv1.conv.modulation.weight", "input.input", "style.1.weight"}
    return state is not None and marks <= set(state)


def _find_generator(payload: object) -> str | None:
    """Return the key under which the generator to use stands ("" for a bare state dict), or None."""
    if _is_generator(find_state_dict(payload, ())):
        return ""
    for key in ("g_ema", "g", "state_dict"):
        if isinstance(payload, dict) and _is_generator(find_state_dict(payload.get(key), ())):
            return key
    return None


def _recognizes(file: CheckpointFile) -> bool:
    return file.container == "torch" and _find_generator(file.payload) is not None


def _read(file: CheckpointFile) -> CheckpointContent:
    payload = file.payload
    key = _find_generator(payload)
    entries: Mapping[object, object] = payload if isinstance(payload, dict) and key else {}
    average = entries.get("latent_avg")
    assumptions: list[str] = []
    generator = _state(entries[key] if key else payload)
    networks: dict[Role, NetworkContent] = {"generator": _read_generator(generator, average, assumptions)}
    refused: dict[Role, str] = {}
    for role, name in _ROLES.items():
        if name == key or role == "generator" or entries.get(name) is None:
            continue
        try:
            state = _state(entries[name])
            is_critic = role == "discriminator"
            networks[role] = _read_discriminator(state) if is_critic else _read_generator(state, average, [])
        except CheckpointError as error:
            # The generator is what was asked for; a part that cannot be read is reported with its reason.
            refused[role] = str(error)
    metadata: dict[str, object] = {"assumptions": assumptions, "generator_entry": key}
    arguments = entries.get("args")
    if isinstance(arguments, AttributeRecord):
        metadata["arguments"] = {
            name: value for name, value in arguments.items() if isinstance(value, str | int | float | bool)
        }
    return CheckpointContent(FORMAT.name, networks, metadata, refused)


def _state(value: object) -> dict[str, Tensor]:
    state = find_state_dict(value, ())
    if state is None:
        raise CheckpointError(
            f"A network of the checkpoint is {describe_value(value)} instead of its weights."
        )
    return state


def _read_generator(state: Mapping[str, Tensor], average: object, assumptions: list[str]) -> NetworkContent:
    layers = {4: "conv1", **_block_layers(state)}
    widths = {
        resolution: _tensor(state, f"{layer}.conv.weight", 5).shape[1] for resolution, layer in layers.items()
    }
    channel_base, channel_max = fit_channel_widths(widths)
    style = _tensor(state, "style.1.weight", 2)
    depth = sum(re.fullmatch(r"style\.\d+\.weight", name) is not None for name in state)
    kernel = _tensor(state, "convs.0.conv.blur.kernel", 2) if len(layers) > 1 else torch.ones(4, 4) / 4
    config: Config = {
        "z_dim": style.shape[1],
        "c_dim": 0,
        "w_dim": _tensor(state, "conv1.conv.modulation.weight", 2).shape[1],
        "img_resolution": max(layers),
        "img_channels": _tensor(state, "to_rgb1.conv.weight", 5).shape[1],
        "mapping_kwargs": {"num_layers": depth, "lr_multiplier": _MAPPING_LR},
        "channel_base": channel_base,
        "channel_max": channel_max,
        "architecture": "skip",
        "resample_filter": _taps(kernel),
    }
    converted = _convert_generator(state, layers, kernel / _UP_GAIN, assumptions)
    for index in range(depth):
        for part, rank in (("weight", 2), ("bias", 1)):
            converted[f"mapping.fc{index}.{part}"] = _tensor(state, f"style.{index + 1}.{part}", rank)
    if isinstance(average, Tensor):
        converted["mapping.w_avg"] = average.float().reshape(-1)
    else:
        converted["mapping.w_avg"] = _average_w(converted, depth)
        assumptions.append(
            f"latent_avg is not in the file: the mean of {_AVERAGED_LATENTS} latents stands in"
        )
    return NetworkContent("stylegan2", config, converted)


def _block_layers(state: Mapping[str, Tensor]) -> dict[int, str]:
    """Return, by resolution from 8, the name of the second convolution of its pair."""
    count = sum(re.fullmatch(r"convs\.\d+\.conv\.weight", name) is not None for name in state)
    if count % 2 or count > 24:
        raise CheckpointError(
            f"The generator has {count} convolutions beyond the first; they must come in pairs."
        )
    return {8 * 2**pair: f"convs.{2 * pair + 1}" for pair in range(count // 2)}


def _convert_generator(
    state: Mapping[str, Tensor], layers: Mapping[int, str], kernel: Tensor, assumptions: list[str]
) -> dict[str, Tensor]:
    converted = {"synthesis.b4.const": _tensor(state, "input.input", 4)[0]}
    random = torch.Generator().manual_seed(0)
    for resolution, second in layers.items():
        block = f"synthesis.b{resolution}"
        level = int(log2(resolution)) - 2
        pair = {"conv1": (second, 2 * level)}
        if level:
            pair["conv0"] = (f"convs.{2 * level - 2}", 2 * level - 1)
        for name, (source, noise) in pair.items():
            converted.update(_convert_styled(state, source, f"{block}.{name}"))
            converted[f"{block}.{name}.resample_filter"] = kernel
            stored = state.get(f"noises.noise_{noise}")
            if stored is None:
                stored = torch.randn(resolution, resolution, generator=random)
            converted[f"{block}.{name}.noise_const"] = stored.reshape(stored.shape[-2:])
        converted[f"{block}.resample_filter"] = kernel
        converted.update(
            _convert_rgb(state, f"to_rgbs.{level - 1}" if level else "to_rgb1", f"{block}.torgb")
        )
    if "noises.noise_0" not in state:
        assumptions.append("the fixed noise is not in the file: noise drawn with seed 0 stands in")
    return converted


def _convert_styled(state: Mapping[str, Tensor], source: str, target: str) -> dict[str, Tensor]:
    weight = _tensor(state, f"{source}.conv.weight", 5)[0]
    return {
        f"{target}.weight": weight / sqrt(weight[0].numel()),
        f"{target}.bias": _tensor(state, f"{source}.activate.bias", 1),
        f"{target}.noise_strength": _tensor(state, f"{source}.noise.weight", 1).reshape(()),
        f"{target}.affine.weight": _tensor(state, f"{source}.conv.modulation.weight", 2),
        f"{target}.affine.bias": _tensor(state, f"{source}.conv.modulation.bias", 1),
    }


def _convert_rgb(state: Mapping[str, Tensor], source: str, target: str) -> dict[str, Tensor]:
    return {
        f"{target}.weight": _tensor(state, f"{source}.conv.weight", 5)[0],
        f"{target}.bias": _tensor(state, f"{source}.bias", 4).reshape(-1),
        f"{target}.affine.weight": _tensor(state, f"{source}.conv.modulation.weight", 2),
        f"{target}.affine.bias": _tensor(state, f"{source}.conv.modulation.bias", 1),
    }


def _average_w(state: Mapping[str, Tensor], depth: int) -> Tensor:
    """Return the mean w over seeded latents, as that code base does when it truncates without a stored
    mean.
    """
    width = state["mapping.fc0.weight"].shape[1]
    x = torch.randn(_AVERAGED_LATENTS, width, generator=torch.Generator().manual_seed(0))
    x = x * (x.square().mean(dim=1, keepdim=True) + 1e-8).rsqrt()
    for index in range(depth):
        weight, bias = state[f"mapping.fc{index}.weight"], state[f"mapping.fc{index}.bias"]
        x = F.linear(x, weight * (_MAPPING_LR / sqrt(weight.shape[1])), bias * _MAPPING_LR)
        x = F.leaky_relu(x, 0.2) * sqrt(2)
    return x.mean(dim=0)


def _read_discriminator(state: Mapping[str, Tensor]) -> NetworkContent:
    count = sum(re.fullmatch(r"convs\.\d+\.conv1\.0\.weight", name) is not None for name in state)
    if not 1 <= count <= 12:
        raise CheckpointError(f"The discriminator has {count} residual blocks; from 1 to 12 are possible.")
    resolution = 4 * 2**count
    widths = {4: _tensor(state, "final_linear.0.bias", 1).shape[0]}
    converted = _convert_head(state)
    for index in range(1, count + 1):
        size = resolution // 2 ** (index - 1)
        widths[size] = _tensor(state, f"convs.{index}.conv1.0.weight", 4).shape[1]
        converted.update(_convert_block(state, f"convs.{index}", f"b{size}"))
    converted[f"b{resolution}.fromrgb.weight"] = _tensor(state, "convs.0.0.weight", 4)
    converted[f"b{resolution}.fromrgb.bias"] = _tensor(state, "convs.0.1.bias", 1)
    channel_base, channel_max = fit_channel_widths(widths)
    config: Config = {
        "c_dim": 0,
        "img_resolution": resolution,
        "img_channels": converted[f"b{resolution}.fromrgb.weight"].shape[1],
        "channel_base": channel_base,
        "channel_max": channel_max,
        "architecture": "resnet",
        "block_kwargs": {"resample_filter": _taps(_tensor(state, "convs.1.conv2.0.kernel", 2))},
        "epilogue_kwargs": {"mbstd_group_size": 4, "mbstd_num_channels": 1},
    }
    return NetworkContent("stylegan2", config, converted)


def _convert_block(state: Mapping[str, Tensor], source: str, target: str) -> dict[str, Tensor]:
    kernel = _tensor(state, f"{source}.conv2.0.kernel", 2)
    return {
        f"{target}.conv0.weight": _tensor(state, f"{source}.conv1.0.weight", 4),
        f"{target}.conv0.bias": _tensor(state, f"{source}.conv1.1.bias", 1),
        f"{target}.conv1.weight": _tensor(state, f"{source}.conv2.1.weight", 4),
        f"{target}.conv1.bias": _tensor(state, f"{source}.conv2.2.bias", 1),
        f"{target}.conv1.resample_filter": kernel,
        f"{target}.skip.weight": _tensor(state, f"{source}.skip.1.weight", 4),
        f"{target}.skip.resample_filter": _tensor(state, f"{source}.skip.0.kernel", 2),
    }


def _convert_head(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {
        "b4.conv.weight": _tensor(state, "final_conv.0.weight", 4),
        "b4.conv.bias": _tensor(state, "final_conv.1.bias", 1),
        "b4.fc.weight": _tensor(state, "final_linear.0.weight", 2),
        "b4.fc.bias": _tensor(state, "final_linear.0.bias", 1),
        "b4.out.weight": _tensor(state, "final_linear.1.weight", 2),
        "b4.out.bias": _tensor(state, "final_linear.1.bias", 1),
    }


def _taps(kernel: Tensor) -> list[float]:
    """Return the one-dimensional taps behind a separable kernel [T, T]."""
    return [float(tap) for tap in kernel.sum(dim=0) / kernel.sum()]


def _tensor(state: Mapping[str, Tensor], name: str, rank: int) -> Tensor:
    tensor = state.get(name)
    if tensor is None or tensor.dim() != rank or 0 in tensor.shape:
        found = "nothing" if tensor is None else f"shape {list(tensor.shape)}"
        raise CheckpointError(f"The checkpoint should hold {name!r} with {rank} dimensions, and has {found}.")
    return tensor


FORMAT = Format(
    name="rosinality",
    description="StyleGAN2 checkpoints of rosinality's code base (.pt with g_ema, g, d)",
    recognizes=_recognizes,
    read=_read,
)
