"""Read a bare StyleGAN2 state dict under NVIDIA's names, as forks save it with `torch.save`.

Without constructor arguments the configuration is inferred from names and shapes; what they do not tell (the
clamp of layers trained in half precision, the learning-rate multiplier of the mapping) is assumed, and said.
"""

import re
from collections.abc import Mapping

from torch import Tensor

from gantune.checkpoints.channel_widths import fit_channel_widths
from gantune.checkpoints.checkpoint_file import CheckpointFile
from gantune.checkpoints.content import CheckpointContent, Format, NetworkContent
from gantune.checkpoints.state_dict import find_state_dict
from gantune.errors import CheckpointError
from gantune.networks.contract import Config

_WRAPPERS = ("G_ema", "g_ema", "generator_ema", "state_dict", "generator", "G")
_MARKS = {"synthesis.b4.const", "synthesis.b4.conv1.affine.weight", "mapping.fc0.weight"}
_ASSUMPTIONS = [
    "layers are not clamped: the file does not tell conv_clamp",
    "the mapping network's learning-rate multiplier is 0.01: the file does not tell it",
]


def _find(file: CheckpointFile) -> dict[str, Tensor] | None:
    if file.container != "torch":
        return None
    payload = file.payload
    candidates = [payload, *(payload.get(name) for name in _WRAPPERS)] if isinstance(payload, dict) else []
    states = (find_state_dict(candidate, ()) for candidate in candidates)
    return next((state for state in states if state is not None and set(state) >= _MARKS), None)


def _recognizes(file: CheckpointFile) -> bool:
    return _find(file) is not None


def _read(file: CheckpointFile) -> CheckpointContent:
    state = _find(file)
    assert state is not None, "_recognizes looked first"
    network = NetworkContent("stylegan2", _infer_config(state), state)
    return CheckpointContent(FORMAT.name, {"generator": network}, {"assumptions": list(_ASSUMPTIONS)})


def _infer_config(state: Mapping[str, Tensor]) -> Config:
    widths = {
        int(match[1]): tensor.shape[0]
        for name, tensor in state.items()
        if (match := re.fullmatch(r"synthesis\.b(\d+)\.conv1\.weight", name))
    }
    channel_base, channel_max = fit_channel_widths(widths)
    resolution = max(widths)
    embed = state.get("mapping.embed.weight")
    depth = sum(re.fullmatch(r"mapping\.fc\d+\.weight", name) is not None for name in state)
    first = _tensor(state, "mapping.fc0.weight")
    mapping: Config = {"num_layers": depth, "layer_features": first.shape[0]}
    if embed is not None:
        mapping["embed_features"] = embed.shape[0]
    config: Config = {
        "z_dim": first.shape[1] - (embed.shape[0] if embed is not None else 0),
        "c_dim": embed.shape[1] if embed is not None else 0,
        "w_dim": _tensor(state, "synthesis.b4.conv1.affine.weight").shape[1],
        "img_resolution": resolution,
        "img_channels": _tensor(state, f"synthesis.b{resolution}.torgb.weight").shape[0],
        "mapping_kwargs": mapping,
        "channel_base": channel_base,
        "channel_max": channel_max,
        "architecture": _architecture(state),
        "use_noise": "synthesis.b4.conv1.noise_const" in state,
    }
    kernel = state.get("synthesis.b4.resample_filter")
    if kernel is not None:
        taps = kernel.sum(dim=0) if kernel.dim() == 2 else kernel
        config["resample_filter"] = [float(tap) for tap in taps]
    return config


def _architecture(state: Mapping[str, Tensor]) -> str:
    if "synthesis.b4.torgb.weight" in state:
        return "skip"
    return "resnet" if "synthesis.b8.skip.weight" in state else "orig"


def _tensor(state: Mapping[str, Tensor], name: str) -> Tensor:
    tensor = state.get(name)
    if tensor is None or tensor.dim() < 2:
        raise CheckpointError(f"The StyleGAN2 weights lack a usable {name!r}; the file is damaged.")
    return tensor


FORMAT = Format(
    name="nvidia-state-dict",
    description="StyleGAN2 state dicts under NVIDIA's names",
    recognizes=_recognizes,
    read=_read,
)
