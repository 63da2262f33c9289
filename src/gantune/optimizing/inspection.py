"""What a checkpoint holds, as plain values."""

from os import PathLike

from gantune.checkpoints import load_checkpoint
from gantune.optimizing.facts import collect_facts, count_network


def inspect(path: str | PathLike[str], *, image_size: int = 64) -> dict[str, object]:
    """Say what a checkpoint is: format, family, sizes, parameters, MACs of one sample, and its metadata.

    `image_size` stands for height and width where an image input leaves them free. Nothing in the file is
    run. Raises `CheckpointError` for a refused file.
    """
    checkpoint = load_checkpoint(path)
    num_parameters, macs = count_network(checkpoint.generator, image_size=image_size)
    facts: dict[str, object] = {
        "file": str(path),
        "format": checkpoint.format,
        **collect_facts(checkpoint.generator),
        "num_parameters": num_parameters,
        "macs": macs,
        "has_raw_generator": checkpoint.raw_generator is not None,
        "has_discriminator": checkpoint.discriminator is not None,
    }
    refused = {f"{role}_refused": reason for role, reason in checkpoint.refused.items()}
    return facts | refused | {"metadata": dict(checkpoint.metadata)}
