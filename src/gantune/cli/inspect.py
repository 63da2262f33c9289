"""`gantune inspect`: what a checkpoint holds."""

from gantune.cli.console import print_facts, print_json
from gantune.cli.options import ImageSizeOption, JsonOption, NetworkArgument


def inspect(file: NetworkArgument, image_size: ImageSizeOption = 64, json: JsonOption = False) -> None:
    """Say what a checkpoint is: format, family, sizes, parameters and MACs; nothing in it is run."""
    from gantune.checkpoints import load_checkpoint
    from gantune.optimizing.facts import collect_facts, count_network

    checkpoint = load_checkpoint(file)
    num_parameters, macs = count_network(checkpoint.generator, image_size=image_size)
    facts: dict[str, object] = {
        "file": str(file),
        "format": checkpoint.format,
        **collect_facts(checkpoint.generator),
        "num_parameters": num_parameters,
        "macs": macs,
        "has_raw_generator": checkpoint.raw_generator is not None,
        "has_discriminator": checkpoint.discriminator is not None,
    }
    for role, reason in checkpoint.refused.items():
        facts[f"{role}_refused"] = reason
    if not json:
        print_facts(facts)
        return
    print_json(facts | {"metadata": dict(checkpoint.metadata)})
