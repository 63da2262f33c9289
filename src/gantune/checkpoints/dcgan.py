"""Read DCGAN generators: state dicts of a Sequential under any names, bare or in a training checkpoint."""

from torch import Tensor, tensor

from gantune.checkpoints.checkpoint_file import CheckpointFile
from gantune.checkpoints.content import CheckpointContent, Format, NetworkContent
from gantune.checkpoints.dcgan_layers import StoredLayers, infer_layers, is_chain, match_norms, sort_layers
from gantune.checkpoints.state_dict import find_state_dict
from gantune.errors import CheckpointError

_WRAPPERS = (
    "netG_state_dict",
    "generator_state_dict",
    "G_state_dict",
    "netG",
    "generator",
    "G",
    "state_dict",
    "model_state_dict",
)
# Latent sizes people use; what a first layer takes beyond the largest of them is taken to be a one-hot class.
_USUAL_LATENTS = (100, 128, 256, 512)


def split_latent(num_inputs: int) -> tuple[int, int]:
    """Split the inputs of a first layer into latent size and number of classes: 110 is 100 and 10.

    Sizes that are usual by themselves (powers of two, multiples of 50) have no classes.
    """
    is_usual = num_inputs % 50 == 0 or num_inputs & (num_inputs - 1) == 0
    smaller = [size for size in _USUAL_LATENTS if size < num_inputs]
    if is_usual or not smaller:
        return num_inputs, 0
    return smaller[-1], num_inputs - smaller[-1]


def _find_layers(file: CheckpointFile) -> StoredLayers | None:
    if file.container != "torch":
        return None
    state = find_state_dict(file.payload, _WRAPPERS)
    layers = None if state is None else sort_layers(state)
    return layers if layers is not None and is_chain(layers) else None


def _recognizes(file: CheckpointFile) -> bool:
    return _find_layers(file) is not None


def _read(file: CheckpointFile) -> CheckpointContent:
    layers = _find_layers(file)
    assert layers is not None
    where = str(file.path)
    norms = match_norms(layers, where)
    found = infer_layers(layers, norms, where)
    z_dim, num_classes, embedding_dim = _infer_inputs(layers, where)
    config = {
        "layers": found,
        "z_dim": z_dim,
        "num_classes": num_classes,
        "embedding_dim": embedding_dim,
    }
    assumptions = [
        "hidden activations are ReLU and the last is tanh, as published: a state dict holds neither"
    ]
    if num_classes and not embedding_dim:
        assumptions.append(f"of {z_dim + num_classes} inputs the last {num_classes} are a one-hot class")
    if any(layer["dropout"] for layer in found):
        assumptions.append("a module without weights behind an activation is a dropout")
    network = NetworkContent("dcgan", config, _rename(layers, norms))
    return CheckpointContent(
        format=FORMAT.name, networks={"generator": network}, metadata={"assumptions": assumptions}
    )


def _infer_inputs(layers: StoredLayers, where: str) -> tuple[int, int, int]:
    num_inputs = layers.tensors[layers.convolutions[0]]["weight"].shape[0]
    if not layers.embeddings:
        return *split_latent(num_inputs), 0
    num_classes, embedding_dim = layers.tensors[layers.embeddings[0]]["weight"].shape
    if embedding_dim >= num_inputs:
        raise CheckpointError(
            f"{where}: the class embedding has {embedding_dim} values, the first layer takes {num_inputs}; "
            "readable is an embedding that stands behind the latent."
        )
    return num_inputs - embedding_dim, num_classes, embedding_dim


def _rename(layers: StoredLayers, norms: dict[str, str]) -> dict[str, Tensor]:
    state: dict[str, Tensor] = {}
    for prefix in layers.embeddings:
        state["embedding.weight"] = layers.tensors[prefix]["weight"]
    for position, prefix in enumerate(layers.convolutions):
        for kind, value in layers.tensors[prefix].items():
            state[f"layers.{position}.conv.{kind}"] = value
        if prefix in norms:
            norm = {"num_batches_tracked": tensor(0), **layers.tensors[norms[prefix]]}
            for kind, value in norm.items():
                state[f"layers.{position}.norm.{kind}"] = value
    return state


FORMAT = Format(
    name="dcgan",
    description="DCGAN generators (state dicts, bare or as `netG_state_dict` and the like)",
    recognizes=_recognizes,
    read=_read,
)
