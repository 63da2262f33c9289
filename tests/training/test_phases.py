"""The phases as they are run, held to golden numbers under every switch that could change them."""

from itertools import product

import pytest
import torch

from gantune.ops import use_implementation
from gantune.training import AugmentOptions, Recipe
from gantune.training.checkpointing import recompute_blocks
from gantune.training.dealing import deal
from gantune.training.game import start_game
from gantune.training.layout import keep_channels_last
from gantune.training.phases import plan_phases
from gantune.training.players import Players
from gantune.training.precision import use_precision
from stylegan_golden import assert_relative, load_golden

# 5·mean(r1_penalty), as the golden gradients are taken: γ/2 = 5, every step.
RECIPE = Recipe(
    batch=4, gamma=10, d_reg_interval=1, g_reg_interval=1, pl_weight=1, augment=AugmentOptions(kind="none")
)


def golden_game(name, *, channels_last=False):
    load_golden.cache_clear()
    golden = load_golden(name)
    if channels_last:
        keep_channels_last(golden.generator)
        keep_channels_last(golden.discriminator)
    players = Players(golden.generator.train(), golden.discriminator.train(), golden.generator)
    return golden, start_game(players, RECIPE, fused_optimizer=True)


def phase_named(game, name):
    phases = {phase.name: phase for phase in plan_phases(game.recipe, game.players.generator)}
    return phases[name]


@pytest.mark.parametrize("implementation", ["reference", "portable", "auto"])
@pytest.mark.parametrize("channels_last", [False, True], ids=["planes", "channels-last"])
@pytest.mark.parametrize("recomputes", [False, True], ids=["kept", "recomputed"])
@pytest.mark.parametrize("name", ["stylegan2-uncond-32", "stylegan2-resnet-32", "stylegan3-t-32"])
def test_the_r1_phase_has_golden_gradients_under_every_switch(
    name, recomputes, channels_last, implementation
):
    golden, game = golden_game(name, channels_last=channels_last)
    images = golden.numbers["img_const"]
    labels = torch.zeros(len(images), 0) if golden.labels is None else golden.labels
    discriminator = game.players.discriminator.requires_grad_(True)
    recomputed = (discriminator,) if recomputes else ()
    with use_implementation(implementation), recompute_blocks(*recomputed):
        phase_named(game, "d_r1").descend(game, {"images": images, "labels": labels}, 1.0)
    gradients = {
        key: torch.zeros_like(parameter) if parameter.grad is None else parameter.grad
        for key, parameter in discriminator.named_parameters()
    }
    expected = {key.removeprefix("r1_grad/"): v for key, v in golden.numbers.items() if "r1_grad" in key}
    assert expected
    for key, value in expected.items():
        assert_relative(gradients[key].contiguous(), value)
    assert_relative(torch.stack(game.records["r1_penalty"])[0], golden.numbers["r1_penalty"].mean())


def path_length_draw(golden, game, dtype):
    network = game.players.generator
    count = len(golden.numbers["z"])
    draw = {
        "z": golden.numbers["z"].to(dtype),
        "mixed": torch.zeros(count, network.num_ws, dtype=torch.bool),
        "c": torch.zeros(count, 0) if golden.labels is None else golden.labels.to(dtype),
        "directions": golden.numbers["pl_noise"].to(dtype),
    }
    for layer, shape in network.synthesis.noise_shapes().items():
        stored = network.get_submodule(f"synthesis.{layer}").noise_const
        draw[f"noise.{layer}"] = stored.expand(count, *shape[1:]).to(dtype)
    return draw


def path_length_gradients(name, *, dtype, implementation, channels_last=False, rounds=1, recomputes=False):
    golden, game = golden_game(name, channels_last=channels_last)
    generator = game.players.generator.to(dtype).requires_grad_(True)
    game.path_length_mean = torch.tensor(0.5, dtype=dtype)
    draw = path_length_draw(golden, game, dtype)
    phase = phase_named(game, "g_path_length")
    recomputed = (generator,) if recomputes else ()
    with use_implementation(implementation), recompute_blocks(*recomputed):
        for part in range(rounds):
            share = deal(draw, part=part, num_parts=rounds, group_size=1)
            phase.descend(game, share, 1 / rounds)
    lengths = torch.stack(game.records["path_length"]).mean()
    gradients = {key: item.grad for key, item in generator.named_parameters() if item.grad is not None}
    generator.float()
    return golden, lengths, gradients


@pytest.mark.parametrize(
    ("implementation", "channels_last", "recomputes", "rounds"),
    [
        *product(["reference", "portable", "auto"], [False, True], [False, True], [1]),
        ("auto", True, False, 2),
    ],
)
def test_the_path_length_phase_is_golden_and_its_gradients_those_of_float64(
    implementation, channels_last, recomputes, rounds
):
    name = "stylegan2-uncond-32"
    _, _, exact = path_length_gradients(name, dtype=torch.float64, implementation="reference")
    golden, lengths, found = path_length_gradients(
        name,
        dtype=torch.float32,
        implementation=implementation,
        channels_last=channels_last,
        recomputes=recomputes,
        rounds=rounds,
    )
    assert_relative(lengths, golden.numbers["pl_lengths"].mean())
    assert found.keys() == exact.keys()
    largest = max(value.abs().max() for value in exact.values())
    for key, value in exact.items():
        assert (found[key] - value).abs().max() <= 1e-4 * largest, key


def test_bf16_r1_of_the_main_phases_stays_near_float32():
    # The penalties themselves always run in float32; D's slope through bf16 convolutions is within 2 %.
    golden, game = golden_game("stylegan2-uncond-32")
    images = golden.numbers["img_const"].clone().requires_grad_()
    with use_precision("bf16"):
        (slope,) = torch.autograd.grad(game.players.discriminator(images).sum(), images)
    found = slope.square().sum(dim=(1, 2, 3)).mean()
    assert abs(found / golden.numbers["r1_penalty"].mean() - 1) < 0.02


def test_a_generator_without_path_lengths_has_three_phases():
    _, game = golden_game("stylegan3-t-32")
    assert [phase.name for phase in plan_phases(RECIPE, game.players.generator)] == [
        "g_main",
        "d_main",
        "d_r1",
    ]
    plain = Recipe(gamma=0, pl_weight=0)
    assert [phase.name for phase in plan_phases(plain, game.players.generator)] == ["g_main", "d_main"]
