import json
import logging
import signal

import pytest
import torch
from PIL import Image
from safetensors.torch import load_file

from gantune.checkpoints import load_checkpoint
from gantune.errors import CheckpointError, InterruptedRunError, UsageError
from gantune.training import AugmentOptions, NetworkShape, step, train
from gantune.training.run_folder import STATE_FILE
from training_samples import small_recipe, small_request, write_dataset


def state_of(run):
    return load_file(run / STATE_FILE)


def assert_bit_equal(found, expected):
    assert found.keys() == expected.keys()
    assert not [name for name in expected if not torch.equal(found[name], expected[name])]


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("undisturbed")
    return folder, train(small_request(folder)).run


def test_a_run_leaves_what_the_field_expects(undisturbed):
    _, run = undisturbed
    assert run.name == "00000-stylegan2-data-batch8-gamma1"
    lines = [json.loads(line) for line in (run / "training_stats.jsonl").read_text().splitlines()]
    assert [line["num_images"] for line in lines] == [16, 32, 48, 64, 80]
    assert {"loss/generator", "loss/discriminator", "r1_penalty", "path_length", "augment/p"} <= set(
        lines[-1]
    )
    assert json.loads((run / "training_options.json").read_text())["recipe"]["batch"] == 8
    with Image.open(run / "fakes000000.png") as sheet, Image.open(run / "reals.png"):
        assert sheet.size == (20 * 9 - 1, 10 * 9 - 1)


def test_the_snapshot_loads_as_a_checkpoint(undisturbed):
    _, run = undisturbed
    checkpoint = load_checkpoint(run / "network-snapshot-000000.safetensors")
    state = state_of(run)
    assert torch.equal(checkpoint.raw_generator.synthesis.b4.const, state["generator.synthesis.b4.const"])
    assert torch.equal(checkpoint.generator.synthesis.b4.const, state["average.synthesis.b4.const"])
    assert torch.equal(checkpoint.discriminator.b4.out.weight, state["discriminator.b4.out.weight"])
    assert not torch.equal(state["average.synthesis.b4.const"], state["generator.synthesis.b4.const"])
    assert state["generator.mapping.w_avg"].abs().max() > 0


def test_a_second_run_is_bit_equal(undisturbed, tmp_path):
    _, run = undisturbed
    assert_bit_equal(state_of(train(small_request(tmp_path)).run), state_of(run))


@pytest.mark.parametrize("aug", ["ada", "diffaugment"])
def test_a_stopped_run_continues_bit_equal(tmp_path, aug):
    augment = AugmentOptions(kind=aug, p=0.3, ada_kimg=0.1, interval=2)
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    whole = train(small_request(tmp_path / "a", augment=augment)).run
    part = train(small_request(tmp_path / "b", kimg=0.04, augment=augment)).run
    # Steps 5 to 9 are the second part: both penalties and a move of p are due in it.
    resumed = train(small_request(tmp_path / "b", resume=part, augment=augment))
    assert resumed.run == part
    assert_bit_equal(state_of(part), state_of(whole))
    lines = (part / "training_stats.jsonl").read_text().splitlines()
    assert [json.loads(line)["num_images"] for line in lines] == [16, 32, 40, 48, 64, 80]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_a_run_between_two_steps(undisturbed, tmp_path, monkeypatch, number):
    def interrupt(phase, game, real, context):
        if game.step == 3 and phase.name == "d_main":
            signal.raise_signal(number)
        run_phase(phase, game, real, context)

    run_phase = step.run_phase
    monkeypatch.setattr(step, "run_phase", interrupt)
    with pytest.raises(InterruptedRunError, match=rf"by {number.name} after 32 images.*--resume .*00000"):
        train(small_request(tmp_path))
    monkeypatch.undo()
    part = tmp_path / "runs" / "00000-stylegan2-data-batch8-gamma1"
    assert_bit_equal(state_of(train(small_request(tmp_path, resume=part)).run), state_of(undisturbed[1]))


def test_other_data_are_refused_when_a_run_is_resumed(tmp_path):
    part = train(small_request(tmp_path, kimg=0.008)).run
    before = (part / STATE_FILE).read_bytes()
    write_dataset(tmp_path / "data.zip", count=25)
    with pytest.raises(UsageError, match="was trained on other pictures than those of --data"):
        train(small_request(tmp_path, resume=part))
    assert (part / STATE_FILE).read_bytes() == before


def test_a_damaged_picture_leaves_no_run_folder(tmp_path):
    data = write_dataset(tmp_path / "data.zip")
    content = bytearray(data.read_bytes())
    place = content.rindex(b"IDAT", 0, content.rindex(b"PK\x03\x04"))
    content[place : place + 8] = bytes(8)
    data.write_bytes(content)
    with pytest.raises(CheckpointError, match="is not a readable picture"):
        train(small_request(tmp_path))
    assert not list((tmp_path / "runs").glob("*"))


def test_another_recipe_is_named_when_a_run_is_resumed(tmp_path, caplog):
    part = train(small_request(tmp_path, kimg=0.016)).run
    with caplog.at_level(logging.WARNING):
        train(small_request(tmp_path, kimg=0.024, resume=part, gamma=5.0))
    assert "gamma: 1.0 → 5.0" in caplog.text
    (line,) = (part / "recipe_changes.jsonl").read_text().splitlines()
    assert json.loads(line) == {"num_images": 16, "changes": {"gamma": [1.0, 5.0]}}


def test_a_new_run_may_begin_with_the_networks_of_a_checkpoint(undisturbed, tmp_path):
    _, run = undisturbed
    snapshot = run / "network-snapshot-000000.safetensors"
    started = train(small_request(tmp_path, kimg=0, resume=snapshot)).run
    begun, trained = state_of(started), state_of(run)
    roles = ("generator.", "discriminator.", "average.")
    for name in (name for name in begun if name.startswith(roles)):
        assert torch.equal(begun[name], trained[name]), name


def test_networks_of_another_shape_are_refused(undisturbed, tmp_path):
    _, run = undisturbed
    wider = NetworkShape(channel_base=128, channel_max=16, latent_dim=8, map_depth=2)
    with pytest.raises(CheckpointError, match="do not have the shape"):
        train(small_request(tmp_path, resume=run / "network-snapshot-000000.safetensors", shape=wider))
    with pytest.raises(CheckpointError, match="has another shape"):
        train(small_request(tmp_path, resume=run, shape=wider))


def test_a_damaged_state_is_refused(tmp_path):
    part = train(small_request(tmp_path, kimg=0.008)).run
    (part / STATE_FILE).write_bytes((part / STATE_FILE).read_bytes()[:1000])
    with pytest.raises(CheckpointError, match="is not the state of a training run"):
        train(small_request(tmp_path, resume=part))


@pytest.mark.parametrize("cfg", ["stylegan3-t", "stylegan3-r"])
def test_stylegan3_trains_without_path_lengths(tmp_path, cfg):
    shape = NetworkShape(cfg=cfg, channel_base=64, channel_max=8, latent_dim=8)
    run = train(small_request(tmp_path, kimg=0.016, shape=shape)).run
    state = state_of(run)
    assert all(bool(torch.isfinite(tensor).all()) for tensor in state.values())
    magnitudes = [float(item) for name, item in state.items() if name.endswith("magnitude_ema")]
    assert magnitudes
    assert 1.0 not in magnitudes
    assert state["path_length_mean"] == 0


PLAIN = {"cfg": "dcgan", "channel_base": 64, "channel_max": 8, "latent_dim": 8}


@pytest.mark.parametrize("cond", [True, False], ids=["with classes", "without"])
@pytest.mark.parametrize("cfg", ["dcgan", "biggan"])
def test_dcgan_and_biggan_train_and_continue_bit_equal(tmp_path, cfg, cond):
    shape = NetworkShape(**(PLAIN | {"cfg": cfg, "channel_base": 128}))
    changes = {"shape": shape, "loss": "hinge", "gamma": 0.1, "cond": cond}
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    whole = train(small_request(tmp_path / "a", kimg=0.032, **changes)).run
    part = train(small_request(tmp_path / "b", kimg=0.024, **changes)).run
    train(small_request(tmp_path / "b", kimg=0.032, resume=part, **changes))
    assert_bit_equal(state_of(part), state_of(whole))
    state = state_of(whole)
    assert all(bool(torch.isfinite(tensor).all()) for tensor in state.values())
    statistics = [item for name, item in state.items() if name.startswith("average.") and "mean" in name]
    assert statistics
    assert all(item.abs().max() > 0 for item in statistics)
    checkpoint = load_checkpoint(whole / "network-snapshot-000000.safetensors")
    assert checkpoint.discriminator.family == checkpoint.generator.family == cfg


def test_a_batch_that_does_not_split_is_refused(tmp_path):
    with pytest.raises(UsageError, match="does not split"):
        train(small_request(tmp_path, batch=6))


def test_a_recipe_refuses_a_number_out_of_range():
    with pytest.raises(ValueError, match="greater than 0"):
        small_recipe(g_lr=0)
