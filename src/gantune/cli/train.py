"""`gantune train`: a fast GAN trainer with the field's options and run folders."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from gantune.cli.console import print_facts, print_json, report_progress
from gantune.cli.options import JsonOption, SeedOption
from gantune.cli.train_defaults import take_customs, take_recipe

if TYPE_CHECKING:
    from gantune.training import TrainRequest
    from gantune.training.scoring import Scoring

Configuration = Literal["stylegan2", "stylegan3-t", "stylegan3-r", "dcgan", "biggan"]
Loss = Literal["logistic", "hinge"]
Augmentation = Literal["none", "ada", "fixed", "diffaugment"]
Precision = Literal["fp32", "bf16", "fp16"]
Compression = Literal["none", "bf16", "fp16", "powersgd"]


def train(
    outdir: Annotated[
        Path, typer.Option("--outdir", "--out", help="Where run folders go.", show_default=False)
    ],
    data: Annotated[Path, typer.Option(help="ZIP or folder of pictures.", show_default=False)],
    recipe_file: Annotated[
        Path | None,
        typer.Option(
            "--recipe", is_eager=True, callback=take_recipe, help="YAML of options; those given here win."
        ),
    ] = None,
    cfg: Annotated[
        Configuration,
        typer.Option(is_eager=True, callback=take_customs, help="Which networks, and the defaults below."),
    ] = "stylegan2",
    loss: Annotated[Loss, typer.Option(help="Adversarial loss.")] = "logistic",
    batch: Annotated[int, typer.Option(min=1, help="Images a step.")] = 32,
    kimg: Annotated[float, typer.Option(min=0, help="Thousand images to train for.")] = 1000,
    gamma: Annotated[float, typer.Option(min=0, help="Weight of R1; 0 is none.")] = 1.0,
    pl_weight: Annotated[float, typer.Option(min=0, help="Weight of the path length penalty.")] = 2.0,
    cond: Annotated[bool, typer.Option("--cond", help="Train with the labels of dataset.json.")] = False,
    mirror: Annotated[bool, typer.Option("--mirror", help="Add every picture flipped.")] = False,
    aug: Annotated[Augmentation, typer.Option(help="Augmentation.")] = "ada",
    augpipe: Annotated[
        str, typer.Option(help="ADA's groups, with commas: blit, geometry, color, filter, noise, cutout.")
    ] = "blit,geometry,color",
    p: Annotated[float, typer.Option("--p", min=0, max=1, help="Its first (fixed: only) probability.")] = 0.0,
    target: Annotated[float, typer.Option(help="ADA: wanted mean sign of real logits.")] = 0.6,
    cbase: Annotated[int, typer.Option(min=4, help="Widths: channels × resolution.")] = 32768,
    cmax: Annotated[int, typer.Option(min=1, help="Widths: most channels.")] = 512,
    d_cbase: Annotated[int | None, typer.Option(min=4, help="The discriminator's --cbase.")] = None,
    latent_dim: Annotated[int, typer.Option(min=1, help="Width of z and w.")] = 512,
    map_depth: Annotated[int | None, typer.Option(min=1, help="Layers of the mapping network.")] = None,
    mbstd_group: Annotated[int, typer.Option(min=1, help="Group of the minibatch statistics.")] = 4,
    glr: Annotated[float, typer.Option(help="Learning rate of the generator.")] = 0.002,
    dlr: Annotated[float, typer.Option(help="Learning rate of the discriminator.")] = 0.002,
    beta1: Annotated[float, typer.Option(help="Adam's decay of the mean gradient.")] = 0.0,
    beta2: Annotated[float, typer.Option(help="Adam's decay of the squared gradient.")] = 0.99,
    style_mixing: Annotated[float, typer.Option(min=0, max=1, help="Share of mixed styles.")] = 0.9,
    ema_kimg: Annotated[float, typer.Option(help="Half-life of the averaged generator.")] = 10.0,
    resume: Annotated[Path | None, typer.Option(help="Run folder to continue, or checkpoint.")] = None,
    tick: Annotated[float, typer.Option(help="Thousand images between reports.")] = 4.0,
    snap: Annotated[int, typer.Option(min=1, help="Ticks between snapshots.")] = 50,
    metrics: Annotated[
        str, typer.Option(help="Of snapshots: none, or some of fid, frechet, kid, pr with commas.")
    ] = "none",
    metric_images: Annotated[int, typer.Option(min=2, help="Generated images they are taken of.")] = 10_000,
    metric_features: Annotated[
        str, typer.Option(help="efficientnet-lite0, inception-v3-fid, or an ONNX file.")
    ] = "efficientnet-lite0",
    metric_weights: Annotated[Path | None, typer.Option(help="File of the features' weights.")] = None,
    precision: Annotated[Precision, typer.Option(help="Of convolutions in first-order phases.")] = "fp32",
    accumulation: Annotated[int, typer.Option(min=1, help="Backward passes a batch.")] = 1,
    checkpointing: Annotated[
        bool, typer.Option("--checkpointing", help="Recompute blocks: less memory, more time.")
    ] = False,
    compiled: Annotated[
        bool, typer.Option("--compile", help="Compile phases without a second derivative.")
    ] = False,
    compression: Annotated[Compression, typer.Option(help="Of gradients between processes.")] = "none",
    workers: Annotated[int, typer.Option(min=0, help="Processes that read images ahead.")] = 1,
    seed: SeedOption = 0,
    tuned_allocator: Annotated[
        bool,
        typer.Option("--tune-allocator", help="Keep large tensors in glibc's heap: faster, more memory."),
    ] = False,
    search_batch: Annotated[
        bool, typer.Option("--find-batch", help="Try batch sizes, print the best and stop.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the options and stop.")] = False,
    json: JsonOption = False,
) -> None:
    """Train a GAN; leaves statistics, pictures, snapshots, and a state from which it resumes exactly."""
    from gantune.networks.options import read_options
    from gantune.training import NetworkShape, Recipe, Schedule, SpeedOptions, TrainRequest
    from gantune.training import train as run_training
    from gantune.training.peers import join_peers

    shape: dict[str, object] = {
        "cfg": cfg,
        "channel_base": cbase,
        "channel_max": cmax,
        "discriminator_channel_base": d_cbase,
        "latent_dim": latent_dim,
        "map_depth": map_depth,
        "mbstd_group": mbstd_group,
    }
    recipe: dict[str, object] = {
        "shape": read_options(NetworkShape, shape, what="The shape of the networks"),
        "augment": {"kind": aug, "p": p, "target": target, "groups": tuple(augpipe.split(","))},
        "loss": loss,
        "batch": batch,
        "gamma": gamma,
        "pl_weight": pl_weight,
        "style_mixing": style_mixing,
        "g_lr": glr,
        "d_lr": dlr,
        "beta1": beta1,
        "beta2": beta2,
        "average_kimg": ema_kimg,
        "cond": cond,
        "mirror": mirror,
        "seed": seed,
    }
    schedule: dict[str, object] = {"kimg": kimg, "tick_kimg": tick, "snap": snap}
    speed: dict[str, object] = {
        "tuned_allocator": tuned_allocator,
        "precision": precision,
        "checkpointing": checkpointing,
        "compiled": compiled,
        "workers": workers,
        "accumulation": accumulation,
    }
    request = TrainRequest(
        data=data,
        outdir=outdir,
        recipe=read_options(Recipe, recipe, what="The recipe"),
        schedule=read_options(Schedule, schedule, what="The schedule"),
        speed=read_options(SpeedOptions, speed, what="The speed switches"),
        resume=resume,
        scoring=_read_scoring(metrics, metric_images, metric_features, metric_weights),
    )
    if search_batch or dry_run:
        found = _search_batch(request) if search_batch else _describe(request)
        print_json(found) if json else print_facts(found)
        return
    with join_peers(compression=compression) as peers:
        result = run_training(request, peers=peers, on_progress=report_progress)
        if not peers.is_first:
            return
    document: dict[str, object] = {name: str(value) for name, value in asdict(result).items()}
    print_json(document) if json else print_facts(document)


def _read_scoring(metrics: str, num_images: int, features: str, weights: Path | None) -> "Scoring | None":
    from gantune.quality.feature_catalogue import FeatureOptions
    from gantune.training.scoring import Scoring

    if metrics == "none":
        return None
    names = tuple(name.strip() for name in metrics.split(","))
    return Scoring(names, num_images, FeatureOptions(name=features, weights=weights))


def _describe(request: "TrainRequest") -> dict[str, object]:
    from gantune.training import open_data

    dataset = open_data(request)
    return {
        "images": dataset.num_stored,
        "resolution": dataset.resolution,
        "channels": dataset.channels,
        "label_dim": dataset.label_dim,
        **asdict(request),
    }


def _search_batch(request: "TrainRequest") -> dict[str, object]:
    from gantune.training import open_data
    from gantune.training.batch_search import find_batch
    from gantune.training.progress import describe_probe
    from gantune.training.shapes import ImageShape

    dataset = open_data(request)
    images = ImageShape(dataset.resolution, dataset.channels, dataset.label_dim)
    advice = find_batch(request.recipe, request.speed, images)
    tried = {f"batch {item.batch}": describe_probe(item) for item in advice.probes}
    return {"batch": advice.batch, "reason": advice.reason, **tried}
