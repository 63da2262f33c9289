import pytest
import torch

from gantune.errors import ScriptError
from gantune.training import train
from gantune.training.health import fake_spread, find_ailments, image_spread, stop_if_ill
from gantune.training.run_folder import STATE_FILE
from gantune.training.statistics import single
from training_samples import small_recipe, small_request, steps_on_random_images

HEALTHY = {
    "overflow/g_main": single(0.1),
    "gradient_norm/g_main": single(0.5),
    "logits/real": single(2.0),
    "logits/fake": single(-1.5),
}


def kinds(spread=1.0, num_images=10**6, **changes):
    statistics = HEALTHY | {name.replace("__", "/"): single(value) for name, value in changes.items()}
    return [item.kind for item in find_ailments(statistics, spread=spread, num_images=num_images)]


def test_a_healthy_tick_is_silent():
    assert kinds() == []


@pytest.mark.parametrize(
    ("changes", "kind"),
    [
        ({"overflow__g_main": 0.6}, "overflow"),
        ({"gradient_norm__g_main": 1e-8}, "vanishing_gradient"),
        ({"logits__real": 25.0, "logits__fake": -20.0}, "vanishing_gradient"),
        ({"logits__real": 70.0, "logits__fake": 60.0}, "logits_drift"),
        ({"spread": 0.001}, "mode_collapse"),
    ],
)
def test_each_rule_fires(changes, kind):
    assert kinds(**changes) == [kind]


def test_an_untrained_generator_may_hardly_vary():
    assert kinds(spread=0.001, num_images=1000) == []


def test_the_spread_is_the_root_mean_square_distance_from_the_average():
    images = torch.tensor([1.0, -1.0]).reshape(2, 1, 1, 1).expand(2, 3, 4, 4)
    assert image_spread(images) == 1
    assert image_spread(images[:1]) == 0


def test_a_collapsed_generator_has_no_spread():
    game = steps_on_random_images(small_recipe(), 1)
    generator = game.players.generator
    label = torch.eye(3)[0]
    assert fake_spread(generator, label, seed=0) > 0
    for name, parameter in generator.named_parameters():
        if "affine.weight" in name:
            parameter.zero_()
    assert fake_spread(generator, label, seed=0) == pytest.approx(0, abs=1e-6)


def test_every_reason_is_told():
    ailments = find_ailments(HEALTHY | {"logits/real": single(200)}, spread=0.0, num_images=10**6)
    with pytest.raises(
        ScriptError, match=r"vanishing gradient: .*; logits drift: .*; mode collapse: .* kept in run"
    ):
        stop_if_ill(ailments, resume="run")


def test_a_run_that_overflows_stops_and_keeps_its_weights(tmp_path):
    part = train(small_request(tmp_path, kimg=0.016)).run
    before = (part / STATE_FILE).read_bytes()
    with pytest.raises(ScriptError, match="overflow: 100% of the gradients of"):
        train(small_request(tmp_path, kimg=0.08, resume=part, g_lr=1e38))
    assert (part / STATE_FILE).read_bytes() == before
