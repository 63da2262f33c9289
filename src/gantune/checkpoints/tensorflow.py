"""Read StyleGAN2's older TensorFlow pickles: a tuple (G, D, Gs) of `dnnlib.tflib.network.Network`.

The weights are turned into the layout of the `stylegan2` family, so no TensorFlow is needed: dense matrices
are transposed, kernels go from [kh, kw, in, out] to [out, in, kh, kw], and the style bias gains the 1 that
TensorFlow adds later. The generator's up-sampling kernels are stored as correlations and are flipped.
"""

import re
from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor

from gantune.checkpoints.channel_widths import fit_channel_widths
from gantune.checkpoints.checkpoint_file import CheckpointFile
from gantune.checkpoints.content import CheckpointContent, Format, NetworkContent, Role
from gantune.checkpoints.inert import InertObject, describe_value
from gantune.checkpoints.plain_values import plain_dictionary
from gantune.errors import CheckpointError
from gantune.networks.contract import Config

_NETWORK = "dnnlib.tflib.network.Network"
_ROLES: tuple[Role, ...] = ("raw_generator", "discriminator", "generator")
_BLOCK = re.compile(r"(\d+)x\1/(.+)")
_GENERATOR_LAYERS = {"Conv": "conv1", "Conv0_up": "conv0", "Conv1": "conv1", "ToRGB": "torgb", "Skip": "skip"}
_DISCRIMINATOR_LAYERS = {
    "FromRGB": "fromrgb",
    "Conv0": "conv0",
    "Conv1_down": "conv1",
    "Skip": "skip",
    "Conv": "conv",
    "Dense0": "fc",
}
_PARTS = {
    "weight": "weight",
    "bias": "bias",
    "noise_strength": "noise_strength",
    "mod_weight": "affine.weight",
    "mod_bias": "affine.bias",
}
_FLIPPED = ("Conv0_up", "Skip")
_ASSUMED_SETTINGS: dict[str, tuple[object, ...]] = {
    "nonlinearity": ("lrelu",),
    "mapping_nonlinearity": ("lrelu",),
    "resample_kernel": ([1, 3, 3, 1],),
    "normalize_latents": (True,),
    "fused_modconv": (True, False),
}


def _recognizes(file: CheckpointFile) -> bool:
    if file.container != "pickle":
        return False
    payload = file.payload
    return (
        isinstance(payload, tuple | list)
        and len(payload) == len(_ROLES)
        and all(isinstance(network, InertObject) and network.name == _NETWORK for network in payload)
    )


def _read(file: CheckpointFile) -> CheckpointContent:
    payload = file.payload
    assert isinstance(payload, tuple | list)
    stored: dict[Role, object] = dict(zip(_ROLES, payload, strict=True))
    networks: dict[Role, NetworkContent] = {"generator": _read_generator(stored["generator"])}
    refused: dict[Role, str] = {}
    for role in ("raw_generator", "discriminator"):
        try:
            read = _read_discriminator if role == "discriminator" else _read_generator
            networks[role] = read(stored[role])
        except CheckpointError as error:
            # The generator is what was asked for; a part that cannot be read is reported with its reason.
            refused[role] = str(error)
    settings = _settings(stored["generator"])
    metadata: dict[str, object] = {"truncation_psi": settings.get("truncation_psi")}
    return CheckpointContent(FORMAT.name, networks, metadata, refused)


def _state(network: object) -> Mapping[str, object]:
    if not isinstance(network, InertObject) or not isinstance(network.state, dict):
        raise CheckpointError(f"The TensorFlow pickle holds {describe_value(network)} instead of a network.")
    return network.state


def _settings(network: object) -> Config:
    settings = _state(network).get("static_kwargs")
    if not isinstance(settings, dict):
        raise CheckpointError("A TensorFlow network does not say how it was constructed.")
    plain = plain_dictionary(settings)
    for name, allowed in _ASSUMED_SETTINGS.items():
        if name in plain and plain[name] not in allowed:
            raise CheckpointError(
                f"The TensorFlow network uses {name}={plain[name]!r}; supported: {allowed}."
            )
    return plain


def _variables(network: object) -> dict[str, Tensor]:
    pairs = _state(network).get("variables")
    if not isinstance(pairs, list):
        raise CheckpointError("A TensorFlow network holds no variables.")
    variables: dict[str, Tensor] = {}
    for pair in pairs:
        if not isinstance(pair, tuple) or len(pair) != 2 or not isinstance(pair[0], str):
            raise CheckpointError("The variables of a TensorFlow network are not pairs of name and value.")
        name, value = pair
        if isinstance(value, np.ndarray) and value.dtype.kind == "f":
            variables[name] = torch.from_numpy(value.astype(np.float32))
        elif not isinstance(value, np.ndarray | int | float):
            raise CheckpointError(f"The variable {name!r} is {describe_value(value)}.")
    return variables


def _component(network: object, name: str) -> object:
    components = _state(network).get("components")
    if not isinstance(components, dict) or name not in components:
        raise CheckpointError(f"The TensorFlow generator has no component {name!r}; it is not a StyleGAN2.")
    return components[name]


def _read_generator(network: object) -> NetworkContent:
    settings = _settings(network)
    synthesis = _variables(_component(network, "synthesis"))
    mapping = _variables(_component(network, "mapping"))
    if any("StyleMod" in name for name in synthesis):
        raise CheckpointError(
            "The pickle holds the first StyleGAN (TensorFlow); StyleGAN2 and later are supported."
        )
    state = {f"synthesis.{name}": tensor for name, tensor in _convert_synthesis(synthesis).items()}
    state.update({f"mapping.{name}": tensor for name, tensor in _convert_mapping(mapping).items()})
    average = _variables(network).get("dlatent_avg")
    if average is None:
        raise CheckpointError("The TensorFlow generator has no dlatent_avg; it is damaged.")
    state["mapping.w_avg"] = average
    depth = sum(name.startswith("Dense") and name.endswith("/weight") for name in mapping)
    c_dim = mapping["LabelEmbed/weight"].shape[0] if "LabelEmbed/weight" in mapping else 0
    widths = _widths(synthesis, "Conv1/bias", "Conv/bias")
    channel_base, channel_max = fit_channel_widths(widths)
    resolution = max(widths)
    w_dim = average.shape[0]
    embedded = mapping["LabelEmbed/weight"].shape[1] if c_dim else 0
    mapping_kwargs: Config = {"num_layers": depth}
    if "mapping_lrmul" in settings:
        mapping_kwargs["lr_multiplier"] = settings["mapping_lrmul"]
    config: Config = {
        "z_dim": _tensor(mapping, "Dense0/weight").shape[0] - embedded,
        "c_dim": c_dim,
        "w_dim": w_dim,
        "img_resolution": resolution,
        "img_channels": _tensor(synthesis, f"{resolution}x{resolution}/ToRGB/bias").shape[0],
        "mapping_kwargs": mapping_kwargs,
        "channel_base": channel_base,
        "channel_max": channel_max,
        "conv_clamp": settings.get("conv_clamp"),
        "architecture": _architecture(synthesis, "4x4/ToRGB/weight"),
    }
    return NetworkContent("stylegan2", config, state)


def _read_discriminator(network: object) -> NetworkContent:
    settings, variables = _settings(network), _variables(network)
    if settings.get("label_size"):
        raise CheckpointError("The TensorFlow discriminator is conditional, which is not supported.")
    widths = _widths(variables, "Conv0/bias", "Dense0/bias")
    channel_base, channel_max = fit_channel_widths(widths)
    resolution = max(widths)
    first = _tensor(variables, f"{resolution}x{resolution}/FromRGB/weight")
    config: Config = {
        "c_dim": 0,
        "img_resolution": resolution,
        "img_channels": first.shape[2],
        "channel_base": channel_base,
        "channel_max": channel_max,
        "conv_clamp": settings.get("conv_clamp"),
        "architecture": _architecture(variables, "4x4/FromRGB/weight"),
        "epilogue_kwargs": {
            "mbstd_group_size": settings.get("mbstd_group_size", 4),
            "mbstd_num_channels": settings.get("mbstd_num_features", 1),
        },
    }
    state = _convert_layers(variables, _DISCRIMINATOR_LAYERS, flipped=())
    for part in ("weight", "bias"):
        state[f"b4.out.{part}"] = _convert_weight(_tensor(variables, f"Output/{part}"))
    return NetworkContent("stylegan2", config, state)


def _convert_synthesis(variables: Mapping[str, Tensor]) -> dict[str, Tensor]:
    state = _convert_layers(variables, _GENERATOR_LAYERS, flipped=_FLIPPED)
    state["b4.const"] = _tensor(variables, "4x4/Const/const").squeeze(0)
    noises = sorted((int(name[5:]), name) for name in variables if re.fullmatch(r"noise\d+", name))
    # noise0 belongs to the only layer at 4x4; two follow at each resolution.
    for index, name in noises:
        resolution = 4 * 2 ** ((index + 1) // 2)
        layer = "conv1" if index % 2 == 0 else "conv0"
        state[f"b{resolution}.{layer}.noise_const"] = variables[name].squeeze(0).squeeze(0)
    return state


def _convert_mapping(variables: Mapping[str, Tensor]) -> dict[str, Tensor]:
    state: dict[str, Tensor] = {}
    for name, tensor in variables.items():
        layer, _, part = name.partition("/")
        if layer == "LabelConcat":
            raise CheckpointError(
                "The TensorFlow generator joins labels before normalizing, which is not supported."
            )
        if layer == "LabelEmbed":
            state[f"embed.{part}"] = _convert_weight(tensor)
        elif match := re.fullmatch(r"Dense(\d+)", layer):
            state[f"fc{match[1]}.{part}"] = _convert_weight(tensor)
    return state


def _convert_layers(
    variables: Mapping[str, Tensor], layers: Mapping[str, str], *, flipped: tuple[str, ...]
) -> dict[str, Tensor]:
    state: dict[str, Tensor] = {}
    for name, tensor in variables.items():
        match = _BLOCK.fullmatch(name)
        layer, _, part = match[2].partition("/") if match else ("", "", "")
        if match is None or layer not in layers or part not in _PARTS:
            continue
        weight = _convert_weight(tensor)
        if part == "weight" and layer in flipped:
            weight = weight.flip(2, 3)
        if part == "mod_bias":
            weight = weight + 1
        state[f"b{match[1]}.{layers[layer]}.{_PARTS[part]}"] = weight
    return state


def _convert_weight(tensor: Tensor) -> Tensor:
    if tensor.dim() == 2:
        return tensor.t()
    return tensor.permute(3, 2, 0, 1) if tensor.dim() == 4 else tensor


def _widths(variables: Mapping[str, Tensor], layer: str, layer_at_4: str) -> dict[int, int]:
    widths = {4: _tensor(variables, f"4x4/{layer_at_4}").shape[0]}
    for name, tensor in variables.items():
        match = _BLOCK.fullmatch(name)
        if match and match[2] == layer and tensor.dim() == 1:
            widths[int(match[1])] = tensor.shape[0]
    return widths


def _architecture(variables: Mapping[str, Tensor], image_layer_at_4: str) -> str:
    if image_layer_at_4 in variables:
        return "skip"
    return "resnet" if any(name.endswith("/Skip/weight") for name in variables) else "orig"


def _tensor(variables: Mapping[str, Tensor], name: str) -> Tensor:
    tensor = variables.get(name)
    if tensor is None or tensor.dim() == 0:
        raise CheckpointError(
            f"The TensorFlow network has no variable {name!r}; it is not a StyleGAN2 or damaged."
        )
    return tensor


FORMAT = Format(
    name="tensorflow-pickle",
    description="StyleGAN2 pickles of the TensorFlow code base",
    recognizes=_recognizes,
    read=_read,
)
