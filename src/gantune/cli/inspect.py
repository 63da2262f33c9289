"""`gantune inspect`: what a checkpoint holds."""

from gantune.cli.console import print_facts, print_json
from gantune.cli.options import ImageSizeOption, JsonOption, NetworkArgument

# Metadata to see without asking for JSON: what the file could not say, and what was done about it.
_SHOWN_METADATA = ("assumptions", "batch_norm_statistics")


def inspect(file: NetworkArgument, image_size: ImageSizeOption = 64, json: JsonOption = False) -> None:
    """Say what a checkpoint is: format, family, sizes, parameters and MACs; nothing in it is run."""
    from gantune.optimizing.inspection import inspect as inspect_checkpoint

    facts = inspect_checkpoint(file, image_size=image_size)
    if json:
        print_json(facts)
        return
    metadata = facts.pop("metadata")
    assert isinstance(metadata, dict)
    shown = {name: metadata[name] for name in _SHOWN_METADATA if metadata.get(name)}
    print_facts(facts | {name: _join(value) for name, value in shown.items()})


def _join(value: object) -> object:
    return "; ".join(map(str, value)) if isinstance(value, (list, tuple)) else value
