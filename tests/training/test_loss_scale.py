import torch

from gantune.training import SpeedOptions
from gantune.training.loss_scale import STEPS_TO_GROW, LossScale
from training_samples import small_recipe, steps_on_random_images


def test_an_overflow_halves_the_scale_and_starts_the_count_anew():
    assert LossScale(8.0, 5).after_step(has_overflow=True) == LossScale(4.0, 0)
    assert LossScale(1.0).after_step(has_overflow=True) == LossScale(1.0)


def test_a_long_time_without_overflow_doubles_it():
    assert LossScale(8.0, 3).after_step(has_overflow=False) == LossScale(8.0, 4)
    assert LossScale(8.0, STEPS_TO_GROW - 1).after_step(has_overflow=False) == LossScale(16.0, 0)


def test_float16_steps_are_near_float32_and_counted():
    speed = SpeedOptions(workers=0, precision="fp16")
    game = steps_on_random_images(small_recipe(), 2, speed=speed)
    plain = steps_on_random_images(small_recipe(), 2)
    assert game.loss_scales["generator"].num_good == 2
    for name in ("loss/generator", "loss/discriminator"):
        found, expected = torch.stack(game.records[name]), torch.stack(plain.records[name])
        assert torch.allclose(found, expected, atol=2e-2)
    # The gradients are scaled back before anybody sees them.
    found = torch.stack(game.records["gradient_norm/g_main"])
    assert torch.allclose(found, torch.stack(plain.records["gradient_norm/g_main"]), rtol=0.05)


def test_an_overflow_keeps_the_weights_and_halves_the_scale(monkeypatch):
    monkeypatch.setattr("gantune.training.game.LossScale", lambda: LossScale(2.0**60))
    game = steps_on_random_images(
        small_recipe(pl_weight=0, gamma=0), 1, speed=SpeedOptions(workers=0, precision="fp16")
    )
    assert game.loss_scales["generator"] == LossScale(2.0**59)
    assert float(game.records["overflow/g_main"][0]) == 1
    untouched = steps_on_random_images(small_recipe(pl_weight=0, gamma=0), 0)
    for found, expected in zip(
        game.players.generator.parameters(), untouched.players.generator.parameters(), strict=True
    ):
        assert torch.equal(found, expected)
