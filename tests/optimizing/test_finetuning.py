import pytest
import torch

from finetuning_samples import small_pupil, small_run, write_data
from gantune.optimizing.finetuning import find_departure, finetune
from gantune.training.dataset import ImageDataset
from gantune.transforms.quantize.trainable import find_weight_grid, stored_weight


def tuned(folder, cfg="stylegan2", **changes):
    run = small_run(write_data(folder), **changes)
    pupil, dataset = small_pupil(folder, run, cfg)
    assert isinstance(dataset, ImageDataset)
    return pupil, finetune(pupil, dataset, run.finetune, run)


@pytest.mark.parametrize("cfg", ["stylegan2", "dcgan"])
def test_distillation_brings_the_rounded_images_closer(cfg, tmp_path):
    _, found = tuned(tmp_path, cfg, discriminator="none", kimg=0.32, rate=0.005)
    record = found.record
    assert record.stopped is None
    assert record.after_db > record.before_db + 0.5
    assert [point.step for point in record.points] == [0, 10, 20, 30, 40]
    assert record.points[0].error_db == record.before_db
    assert all(point.distillation > 0 for point in record.points[1:])
    assert all(point.generator_loss is None for point in record.points)


@pytest.mark.parametrize("cfg", ["stylegan2", "dcgan"])
def test_the_adversarial_loop_trains_and_ends_on_the_grids(cfg, tmp_path):
    pupil, found = tuned(tmp_path, cfg)
    record = found.record
    assert record.stopped is None, record.stopped
    assert (record.num_steps, record.num_images) == (16, 128)
    assert all(point.generator_loss > 0 and point.discriminator_loss > 0 for point in record.points[1:])
    assert found.network is not None
    assert found.network.state_dict().keys() == pupil.rounded.state_dict().keys()
    for module in found.network.modules():
        grid = find_weight_grid(module)
        if grid is not None:
            assert torch.equal(grid(stored_weight(module)), stored_weight(module))


@pytest.mark.parametrize("discriminator", ["frozen", "quantized"])
def test_the_discriminator_is_a_choice(discriminator, tmp_path):
    pupil, found = tuned(tmp_path, discriminator=discriminator, kimg=0.032)
    assert found.record.stopped is None
    losses = {point.discriminator_loss is None for point in found.record.points[1:]}
    assert losses == {discriminator == "frozen"}
    assert not any("parametrizations" in name for name, _ in pupil.discriminator.named_parameters())


def test_frozen_steps_and_the_average_of_w_stay(tmp_path):
    pupil, found = tuned(tmp_path, steps="frozen", kimg=0.032)
    before = dict(pupil.rounded.named_buffers())
    assert before
    for name, buffer in found.network.named_buffers():
        assert torch.equal(buffer, before[name]), name
    before = dict(pupil.rounded.mapping.named_parameters())
    for name, parameter in found.network.mapping.named_parameters():
        assert torch.equal(parameter, before[name]), name


def test_learned_steps_move(tmp_path):
    pupil, found = tuned(tmp_path, steps="learned", kimg=0.032)
    before = dict(pupil.rounded.named_buffers())
    moved = [
        name
        for name, buffer in found.network.named_buffers()
        if name.endswith("scale") and not torch.equal(buffer, before[name])
    ]
    assert any("input_grid" in name for name in moved)
    assert any("parametrizations" in name for name in moved)


@pytest.mark.parametrize("cfg", ["stylegan2", "dcgan"])
def test_a_learning_rate_a_thousand_times_too_large_is_stopped_and_told(cfg, tmp_path):
    _, found = tuned(tmp_path, cfg, rate=2.0, kimg=0.32)
    assert found.network is None
    assert found.record.after_db is None
    assert found.record.num_steps < 40
    assert "divergence: the squared error of the images grew" in found.record.stopped


def test_the_same_seed_gives_the_same_network(tmp_path):
    first, second = (tuned(tmp_path, kimg=0.032)[1].network.state_dict() for _ in range(2))
    assert all(torch.equal(tensor, second[name]) for name, tensor in first.items())


def test_only_an_error_beyond_the_spread_of_the_images_is_a_departure():
    assert find_departure(0.9, first_error=0.1, spread=1.0) == []
    assert [item.kind for item in find_departure(1.1, first_error=0.1, spread=1.0)] == ["divergence"]
    # Two bits may begin beyond the spread, and are then held to twice their own error.
    assert find_departure(1.9, first_error=1.0, spread=1.0) == []
    assert find_departure(float("inf"), first_error=1.0, spread=1.0)
