"""Open what fine-tuning learns from, the pictures and the discriminator, and refuse what does not fit."""

from dataclasses import dataclass
from pathlib import Path

from torch import nn

from gantune.checkpoints import load_checkpoint
from gantune.errors import UnsupportedError, UsageError
from gantune.networks.contract import Network
from gantune.optimizing.finetuning_options import FinetuneOptions
from gantune.training.dataset import ImageDataset


@dataclass(frozen=True)
class Lessons:
    """What fine-tuning learns from: pictures, and a discriminator unless none takes part."""

    dataset: ImageDataset
    discriminator: nn.Module | None


def open_lessons(path: Path, network: nn.Module, options: FinetuneOptions) -> Lessons:
    """Open the pictures, and the discriminator of the checkpoint at `path`, and check that both fit."""
    dataset = open_finetuning_data(options.data, network)
    return Lessons(dataset, open_discriminator(path) if options.has_adversary else None)


def open_discriminator(path: Path) -> nn.Module:
    """Load the discriminator beside the generator; raise `UnsupportedError` where the file has none."""
    checkpoint = load_checkpoint(path)
    if checkpoint.discriminator is None:
        why = checkpoint.refused.get("discriminator")
        raise UnsupportedError(
            f"{path} holds no discriminator that can be used{f' ({why})' if why else ''}; name a snapshot of "
            "a training run, or give --finetune-discriminator none to learn from the float generator alone."
        )
    return checkpoint.discriminator


def open_finetuning_data(path: Path, network: nn.Module) -> ImageDataset:
    """Open the pictures; raise `UsageError` where they are not of the size, channels or labels of `network`.

    Raise `UnsupportedError` for networks that take pictures and no latents.
    """
    assert isinstance(network, Network)
    if not any(spec.kind == "latent" for spec in network.inputs):
        raise UnsupportedError(
            f"Fine-tuning draws latents, and a {network.family} network takes none; leave --finetune out."
        )
    num_labels = count_labels(network)
    dataset = ImageDataset(path, use_labels=num_labels > 0)
    found = (dataset.channels, dataset.resolution, dataset.resolution)
    made = tuple(network(**network.sample_inputs(1, 0)).shape[1:])
    if found != made:
        raise UsageError(
            f"The pictures in {path} have the shape {list(found)} and the generator makes {list(made)}; name "
            "the data that it was trained on."
        )
    if dataset.label_dim != num_labels:
        raise UsageError(
            f"The labels in {path} have {dataset.label_dim} classes and the generator takes {num_labels}; "
            "name the data that it was trained on."
        )
    return dataset


def count_labels(network: Network) -> int:
    """Give the width of the label that a generator takes; 0 without classes, or with one alone."""
    spec = next((spec for spec in network.inputs if spec.kind == "class"), None)
    if spec is None:
        return 0
    width = int(spec.shape[1]) if len(spec.shape) > 1 else int(spec.high or 0) + 1
    return width if width > 1 else 0
