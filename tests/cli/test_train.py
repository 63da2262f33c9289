import json
import subprocess
import sys
from pathlib import Path

import pytest

from training_samples import write_dataset

RECIPES = sorted((Path(__file__).parents[2] / "recipes").glob("*.yaml"))


def run(*arguments):
    return subprocess.run(
        [sys.executable, "-m", "gantune", "train", *map(str, arguments)], capture_output=True, text=True
    )


SMALL = ("--batch", 4, "--cbase", 64, "--cmax", 8, "--latent-dim", 8, "--map-depth", 2, "--workers", 0)


def test_a_dry_run_prints_the_options_and_writes_nothing(tmp_path):
    data = write_dataset(tmp_path / "data.zip")
    done = run("--outdir", tmp_path / "runs", "--data", data, "--cond", "--gamma", 5, "--dry-run", "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert (document["images"], document["label_dim"], document["recipe"]["gamma"]) == (24, 3, 5)
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda path: path.stem)
def test_a_recipe_gives_defaults_and_an_option_wins_over_it(tmp_path, recipe):
    data = write_dataset(tmp_path / "data.zip")
    arguments = (
        "--outdir",
        tmp_path,
        "--recipe",
        recipe,
        "--data",
        data,
        "--batch",
        8,
        "--dry-run",
        "--json",
    )
    done = run(*arguments)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)["recipe"]
    assert (found["batch"], found["pl_weight"], found["augment"]["kind"]) == (8, 0, "none")


def test_the_networks_bring_their_customs_unless_a_recipe_or_an_option_says_otherwise(tmp_path):
    data = write_dataset(tmp_path / "data.zip")
    recipe = tmp_path / "recipe.yaml"
    recipe.write_text("dlr: 0.5\n")
    arguments = ("--outdir", tmp_path, "--data", data, "--cfg", "biggan", "--recipe", recipe, "--glr", 0.25)
    done = run(*arguments, "--dry-run", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)["recipe"]
    assert (found["loss"], found["beta2"], found["g_lr"], found["d_lr"]) == ("hinge", 0.999, 0.25, 0.5)


@pytest.mark.slow
@pytest.mark.ci
def test_a_run_ends_with_its_snapshot(tmp_path):
    data = write_dataset(tmp_path / "data.zip")
    done = run("--outdir", tmp_path / "runs", "--data", data, "--kimg", 0.008, "--json", *SMALL)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["snapshot"].endswith("network-snapshot-000000.safetensors")


@pytest.mark.parametrize(
    ("arguments", "exit_code", "message"),
    [
        (("--data", "missing.zip"), 3, "neither a folder nor a readable ZIP"),
        (("--data", "data.zip", "--glr", "0"), 2, "g_lr"),
        (("--data", "data.zip", "--resume", ".", *SMALL), 2, "Start it anew"),
        (("--data", "data.zip", "--batch", "6", "--kimg", "0.006", *SMALL[2:]), 2, "does not split"),
    ],
)
def test_a_mistake_is_one_sentence(tmp_path, monkeypatch, arguments, exit_code, message):
    monkeypatch.chdir(tmp_path)
    write_dataset(tmp_path / "data.zip")
    done = run("--outdir", "runs", *arguments)
    assert done.returncode == exit_code, done.stderr
    assert message in done.stderr
    assert "Traceback" not in done.stderr
