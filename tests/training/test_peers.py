import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file

from gantune.training import AugmentOptions, SpeedOptions
from gantune.training.saving import _state_tensors
from training_samples import small_recipe, steps_on_random_images, two_process_recipe

SCRIPT = Path(__file__).with_name("two_processes.py")


def run_two(out, num_steps, compression="none", cfg="stylegan2"):
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2", SCRIPT]
    done = subprocess.run(
        [*map(str, command), str(out), str(num_steps), compression, cfg],
        capture_output=True,
        text=True,
        timeout=200,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return [load_file(out / f"rank{rank}.safetensors") for rank in range(2)]


def exchanged(out):
    with safe_open(out / "rank0.safetensors", "pt") as file:
        return json.loads(file.metadata()["exchanged"])


def largest_difference(found, expected, role):
    return max(
        float((found[name] - expected[name]).abs().max()) for name in expected if name.startswith(f"{role}.")
    )


@pytest.mark.parametrize("aug", ["ada", "none"])
def test_accumulation_takes_the_gradients_of_the_whole_batch(aug):
    recipe = small_recipe(batch=16, augment=AugmentOptions(kind=aug, p=0.3))
    whole = steps_on_random_images(recipe, 1)
    parts = steps_on_random_images(recipe, 1, speed=SpeedOptions(workers=0, accumulation=2))
    expected, found = _state_tensors(whole), _state_tensors(parts)
    # Moments, not weights: the first step of Adam moves every weight by the learning rate.
    for name in expected:
        if name.endswith("exp_avg"):
            assert (found[name] - expected[name]).abs().max() <= 1e-5 * max(1, expected[name].abs().max()), (
                name
            )


@pytest.mark.slow
@pytest.mark.ci
def test_two_processes_stay_equal_for_twenty_steps_and_begin_like_one(tmp_path):
    first, second = run_two(tmp_path, 20)
    assert first.keys() == second.keys()
    assert not [name for name in first if not torch.equal(first[name], second[name])]
    (tmp_path / "short").mkdir()
    short, _ = run_two(tmp_path / "short", 1)
    alone = _state_tensors(steps_on_random_images(two_process_recipe("stylegan2"), 1))
    assert_moments_of_one_process(short, alone)
    assert torch.allclose(short["generator.mapping.w_avg"], alone["generator.mapping.w_avg"], atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("cfg", ["dcgan", "biggan"])
def test_batch_statistics_span_both_processes(tmp_path, cfg):
    first, second = run_two(tmp_path, 1, cfg=cfg)
    assert not [name for name in first if not torch.equal(first[name], second[name])]
    alone = _state_tensors(steps_on_random_images(two_process_recipe(cfg), 1))
    assert_moments_of_one_process(first, alone)
    statistics = [name for name in alone if name.endswith(("running_var", "stored_var"))]
    assert statistics
    for name in statistics:
        assert torch.allclose(first[name], alone[name], rtol=1e-4, atol=1e-5), name


def assert_moments_of_one_process(found, alone):
    for role in ("g_optimizer", "d_optimizer"):
        moments = {name: item for name, item in alone.items() if name.startswith(role) and "exp_avg" in name}
        scale = max(float(item.abs().max()) for item in moments.values())
        assert largest_difference(found, moments, role) <= 1e-5 * max(1, scale)


@pytest.mark.slow
@pytest.mark.parametrize(("compression", "saved"), [("bf16", 0.5), ("fp16", 0.5), ("powersgd", 0.05)])
def test_compressed_gradients_save_bytes_and_keep_the_processes_equal(tmp_path, compression, saved):
    first, second = run_two(tmp_path, 4, compression)
    assert not [name for name in first if not torch.equal(first[name], second[name])]
    assert all(bool(item.isfinite().all()) for item in first.values())
    sent = exchanged(tmp_path)
    assert 1 - sent["sent"] / sent["uncompressed"] >= saved - 1e-9
