"""Find the two numbers that give the widths of a StyleGAN2: min(channel_base // resolution, channel_max)."""

from collections.abc import Mapping

from gantune.errors import CheckpointError


def fit_channel_widths(widths: Mapping[int, int]) -> tuple[int, int]:
    """Return (channel_base, channel_max) for channels by resolution, as found in the shapes of the weights.

    Raises `CheckpointError` where no such pair gives these widths.
    """
    channel_max = max(widths.values())
    lowest = max(width * resolution for resolution, width in widths.items())
    narrow = [(width + 1) * resolution for resolution, width in widths.items() if width < channel_max]
    if narrow and lowest >= min(narrow):
        listed = ", ".join(f"{width} at {resolution}" for resolution, width in sorted(widths.items()))
        raise CheckpointError(
            f"The channels ({listed}) are not min(base / resolution, max) for any base and max; "
            "such width tables are not supported."
        )
    return lowest, channel_max
