"""StyleGAN's operations run in their slow reference form."""

from gantune.profiling.findings.conclusion import conclude
from gantune.profiling.scene import Scene
from gantune.records.profile import Evidence, Finding


def find(scene: Scene) -> Finding | None:
    """Fire where the process was seen to fall back to reference operations."""
    names = scene.seen.counters.reference_operations
    if not names:
        return None
    return conclude(
        "reference_ops",
        None,
        evidence=(
            Evidence(text=f"These operations ran in their reference form: {', '.join(names)}.", events=names),
        ),
        confidence="high",
        remedy="gantune.ops.install() before the network is imported replaces them by fast forms, "
        "derivatives included.",
    )
