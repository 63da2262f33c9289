"""Read NVIDIA's StyleGAN2, StyleGAN2-ADA and StyleGAN3 pickles: modules with their constructor arguments."""

from collections.abc import Mapping

from gantune.checkpoints.channel_widths import fit_channel_widths
from gantune.checkpoints.checkpoint_file import CheckpointFile
from gantune.checkpoints.content import CheckpointContent, Format, NetworkContent, Role
from gantune.checkpoints.inert import InertObject, describe_value
from gantune.checkpoints.module_tree import ModuleRecord, collect_tensors, read_module
from gantune.checkpoints.plain_values import plain_dictionary
from gantune.errors import CheckpointError
from gantune.networks.contract import Config

_GENERATOR_ARGUMENTS = ("z_dim", "c_dim", "w_dim", "img_resolution", "img_channels", "mapping_kwargs")
_DISCRIMINATOR_ARGUMENTS = ("c_dim", "img_resolution", "img_channels", "architecture")


def _recognizes(file: CheckpointFile) -> bool:
    if file.container not in ("pickle", "torch"):
        return False
    payload = file.payload
    if isinstance(payload, dict):
        return any(isinstance(payload.get(name), InertObject) for name in ("G_ema", "G"))
    module = read_module(payload)
    return module is not None and module.child("synthesis") is not None


def _read(file: CheckpointFile) -> CheckpointContent:
    payload = file.payload
    entries: Mapping[object, object] = payload if isinstance(payload, dict) else {"G_ema": payload}
    averaged = "G_ema" if entries.get("G_ema") is not None else "G"
    generator = read_module(entries[averaged])
    if generator is None:
        raise CheckpointError(f"{averaged} in {file.path} is {describe_value(entries[averaged])}.")
    networks: dict[Role, NetworkContent] = {"generator": _read_generator(generator)}
    refused: dict[Role, str] = {}
    others: dict[Role, str] = {"raw_generator": "G", "discriminator": "D"}
    for role, name in others.items():
        if name == averaged or entries.get(name) is None:
            continue
        try:
            networks[role] = _read_role(role, entries[name])
        except CheckpointError as error:
            # The generator is what was asked for; a part that cannot be read is reported with its reason.
            refused[role] = str(error)
    metadata: dict[str, object] = {"generator_class": generator.class_name, "generator_entry": averaged}
    training_set = entries.get("training_set_kwargs")
    if isinstance(training_set, dict):
        metadata["training_set"] = {
            name: value for name, value in training_set.items() if isinstance(value, str | int | float | bool)
        }
    return CheckpointContent(FORMAT.name, networks, metadata, refused)


def _read_role(role: Role, value: object) -> NetworkContent:
    module = read_module(value)
    if module is None:
        raise CheckpointError(f"The {role.replace('_', ' ')} is {describe_value(value)}.")
    return _read_discriminator(module) if role == "discriminator" else _read_generator(module)


def _read_generator(module: ModuleRecord) -> NetworkContent:
    config = _constructor_arguments(module, _GENERATOR_ARGUMENTS)
    nested = config.pop("synthesis_kwargs", None)
    config.update(nested if isinstance(nested, dict) else {})
    mapping = module.child("mapping")
    if mapping is not None:
        found = _attributes(mapping, num_layers="num_layers", w_avg_beta="w_avg_beta")
        found |= _attributes(mapping.child("fc0"), lr_multiplier="bias_gain")
        config["mapping_kwargs"] = {**_dictionary(config.get("mapping_kwargs")), **found}
    if module.child("synthesis", "input") is not None:
        config.update(_stylegan3_attributes(module))
        return NetworkContent("stylegan3", config, collect_tensors(module))
    if module.child("synthesis", "b4") is None:
        raise CheckpointError(
            f"The generator is of the class {module.class_name}, which is neither StyleGAN2 nor StyleGAN3."
        )
    config.update(_stylegan2_attributes(module))
    return NetworkContent("stylegan2", config, collect_tensors(module))


def _read_discriminator(module: ModuleRecord) -> NetworkContent:
    epilogue = module.child("b4")
    if epilogue is None or epilogue.child("conv") is None:
        raise CheckpointError(
            f"The discriminator is of the class {module.class_name}, which is not StyleGAN2's."
        )
    config = _constructor_arguments(module, _DISCRIMINATOR_ARGUMENTS)
    statistics = epilogue.child("mbstd")
    found: Config = {"mbstd_num_channels": 0}
    if statistics is not None:
        found = _attributes(statistics, mbstd_group_size="group_size", mbstd_num_channels="num_channels")
    config["epilogue_kwargs"] = {**_dictionary(config.get("epilogue_kwargs")), **found}
    block = _largest_block(module)
    if block is not None:
        config.update(_attributes(block, architecture="architecture"))
        config.update(_attributes(block.child("conv1"), conv_clamp="conv_clamp"))
        _remove_nested(config, "block_kwargs", "conv_clamp")
    state = collect_tensors(module)
    if "channel_base" not in config and "channel_max" not in config:
        widths = {
            int(name[1:].split(".")[0]): tensor.shape[1]
            for name, tensor in state.items()
            if name.startswith("b") and name.endswith(".conv0.weight") and tensor.dim() == 4
        }
        if "b4.fc.bias" not in state:
            raise CheckpointError("The discriminator has no weight 'b4.fc.bias'; it is damaged.")
        widths[4] = state["b4.fc.bias"].shape[0]
        config["channel_base"], config["channel_max"] = fit_channel_widths(widths)
    return NetworkContent("stylegan2", config, state)


def _stylegan2_attributes(module: ModuleRecord) -> Config:
    """Read from the layers what the constructor may have taken from its code base's own defaults."""
    synthesis = module.child("synthesis")
    block = _largest_block(synthesis)
    assert synthesis is not None
    assert block is not None
    return {
        **_attributes(synthesis, num_fp16_res="num_fp16_res"),
        **_attributes(block, architecture="architecture"),
        **_attributes(
            block.child("conv1"), conv_clamp="conv_clamp", activation="activation", use_noise="use_noise"
        ),
    }


def _stylegan3_attributes(module: ModuleRecord) -> Config:
    synthesis = module.child("synthesis")
    assert synthesis is not None
    names = ("num_layers", "num_critical", "margin_size", "output_scale", "num_fp16_res")
    layers = [name for name in synthesis.child_names() if name.startswith("L")]
    layer = synthesis.child(layers[0]) if layers else None
    return {
        **_attributes(synthesis, **{name: name for name in names}),
        **_attributes(layer, conv_clamp="conv_clamp", conv_kernel="conv_kernel"),
    }


def _largest_block(module: ModuleRecord | None) -> ModuleRecord | None:
    if module is None:
        return None
    sizes = [int(name[1:]) for name in module.child_names() if name.startswith("b") and name[1:].isdecimal()]
    return module.child(f"b{max(sizes)}") if sizes else None


def _attributes(record: ModuleRecord | None, **attribute_of: str) -> Config:
    """Return the attributes that `record` has, under the names of our configuration."""
    if record is None:
        return {}
    found = {key: record.attributes[name] for key, name in attribute_of.items() if name in record.attributes}
    return plain_dictionary(found)


def _constructor_arguments(module: ModuleRecord, names: tuple[str, ...]) -> Config:
    arguments = module.attributes.get("_init_args", ())
    keywords = module.attributes.get("_init_kwargs", {})
    if not isinstance(arguments, tuple) or not isinstance(keywords, dict) or len(arguments) > len(names):
        raise CheckpointError(f"The {module.class_name} does not say how it was constructed.")
    config = plain_dictionary({**dict(zip(names, arguments, strict=False)), **keywords})
    config.update(_attributes(module, **{name: name for name in names if not name.endswith("kwargs")}))
    config.pop("class_name", None)
    return config


def _dictionary(value: object) -> Config:
    return value if isinstance(value, dict) else {}


def _remove_nested(config: Config, group: str, key: str) -> None:
    nested = config.get(group)
    if isinstance(nested, dict) and key in nested:
        config[group] = {name: value for name, value in nested.items() if name != key}


FORMAT = Format(
    name="nvidia-pickle",
    description="NVIDIA's StyleGAN2, StyleGAN2-ADA and StyleGAN3 pickles",
    recognizes=_recognizes,
    read=_read,
)
