"""The transforms that suit a family, as plan steps."""

from gantune.records.artifact import Precision
from gantune.records.plan import Step

STYLE_FAMILIES = frozenset({"stylegan2", "stylegan3"})


def constant_weights(family: str, form: str) -> tuple[Step, ...]:
    """Freeze, make modulated weights constants, and choose the form of up-convolutions."""
    steps: tuple[Step, ...] = (_transform("freeze"),)
    if family in STYLE_FAMILIES:
        steps += (_transform("static_modulation"),)
    if family == "stylegan2":
        steps += (_transform("resampling", form=form),)
    return steps


def program_steps(family: str, precision: Precision) -> tuple[Step, ...]:
    """Prepare a network for torch: constant weights, precision, channels-last."""
    steps = constant_weights(family, "transposed")
    if precision != "fp32":
        steps += (_transform("precision", dtype=precision),)
    return (*steps, _transform("layout", memory_format="channels_last"))


def fused_steps(family: str, products: str) -> tuple[Step, ...]:
    """Prepare a network for torch with gantune's own operators, which leave little for the engine to do."""
    steps = constant_weights(family, "transposed")
    layout = _transform("layout", memory_format="channels_last")
    return (*steps, _transform("fusion", products=products), layout)


def _transform(name: str, **options: str) -> Step:
    return Step(kind="transform", name=name, options=dict(options))
