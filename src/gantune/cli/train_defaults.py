"""Defaults of `gantune train` that come from a recipe file or from the chosen networks.

An option given on the command line wins over the recipe, the recipe over what is customary for the networks.
"""

from pathlib import Path

import typer

from gantune.errors import UsageError

# Radford et al., arXiv 1511.06434; Brock et al., arXiv 1809.11096, at widths that a small machine can train.
CUSTOMS: dict[str, dict[str, object]] = {
    "dcgan": {
        "gamma": 0.0,
        "aug": "none",
        "cbase": 8192,
        "latent_dim": 100,
        "glr": 2e-4,
        "dlr": 2e-4,
        "beta1": 0.5,
        "beta2": 0.999,
    },
    "biggan": {
        "loss": "hinge",
        "gamma": 0.0,
        "aug": "none",
        "cbase": 6144,
        "latent_dim": 120,
        "glr": 1e-4,
        "dlr": 4e-4,
        "beta2": 0.999,
    },
}


def take_customs(context: typer.Context, cfg: str) -> str:
    """Let the customs of `cfg` be the defaults of options that nobody gives."""
    context.default_map = {**CUSTOMS.get(cfg, {}), **(context.default_map or {})}
    return cfg


def take_recipe(context: typer.Context, recipe: Path | None) -> Path | None:
    """Let the options in a recipe file be the defaults of those that are not given on the command line."""
    if recipe is not None:
        context.default_map = {**(context.default_map or {}), **read_recipe(recipe, list_options(context))}
    return recipe


def list_options(context: typer.Context) -> dict[str, str]:
    """Map each option's name, without its dashes, to its parameter."""
    return {
        option.lstrip("-"): str(parameter.name)
        for parameter in context.command.params
        for option in parameter.opts
    }


def read_recipe(path: Path, options: dict[str, str]) -> dict[str, object]:
    """Read a YAML mapping of option names to values; raise `UsageError` for anything else."""
    import yaml

    try:
        values = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise UsageError(f"{path} is not a readable recipe ({error}).") from error
    if not isinstance(values, dict):
        raise UsageError(f"{path} must map options to values, one a line, as in 'gamma: 0.05'.")
    unknown = [str(name) for name in values if name not in options]
    if unknown:
        raise UsageError(
            f"{path}: train has no option {unknown[0]!r}; the options are: {', '.join(sorted(options))}."
        )
    return {options[name]: value for name, value in values.items()}
