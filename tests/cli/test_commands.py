import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

GOLDEN = Path(__file__).parent.parent / "golden"
Run = Callable[..., Any]

# Facts of the golden files, as their README and metadata state them.
FACTS = {
    "stylegan2-uncond-32.pkl": ("stylegan2", 32, 0, 8),
    "stylegan2-resnet-32.pkl": ("stylegan2", 32, 0, 8),
    "stylegan2-cond-16-clamp-fp16.pkl": ("stylegan2", 16, 5, 6),
    "stylegan2ada-uncond-32.pkl": ("stylegan2", 32, 0, 8),
    "stylegan2-tf-32.pkl": ("stylegan2", 32, 0, 8),
    "rosinality-32.pt": ("stylegan2", 32, 0, 8),
    "stylegan3-t-32.pkl": ("stylegan3", 32, 0, 10),
    "stylegan3-r-32.pkl": ("stylegan3", 32, 0, 10),
    "biggan-32.pth": ("biggan", 32, None, None),
    "biggan-64-hier.pth": ("biggan", 64, None, None),
}


@pytest.mark.parametrize("name", FACTS)
def test_inspect_states_what_a_golden_checkpoint_is(gantune: Run, name: str) -> None:
    outcome = gantune("inspect", GOLDEN / name, "--json")
    assert outcome.code == 0, outcome.err
    facts = json.loads(outcome.out)
    family, resolution, c_dim, num_ws = FACTS[name]
    assert (facts["family"], facts["resolution"]) == (family, resolution)
    assert (facts.get("c_dim"), facts.get("num_ws")) == (c_dim, num_ws)
    assert facts["format"]
    assert facts["num_parameters"] > 1000
    assert facts["macs"] > 100_000


def test_doctor_prints_one_json_document(gantune: Run) -> None:
    outcome = gantune("doctor", "--json")
    assert outcome.code == 0
    document = json.loads(outcome.out)
    assert document["engines"]["torch"] is None
    assert {form["operation"] for form in document["ops"]} >= {"upfirdn2d", "filtered_lrelu"}


def test_convert_writes_a_checkpoint_of_the_same_network(gantune: Run, tmp_path: Path) -> None:
    out = tmp_path / "network.safetensors"
    converted = gantune("convert", GOLDEN / "stylegan2-uncond-32.pkl", "--out", out, "--json")
    assert converted.code == 0, converted.err
    assert json.loads(converted.out)["max_abs"] <= json.loads(converted.out)["bound"]
    inspected = gantune("inspect", out, "--json")
    assert json.loads(inspected.out)["resolution"] == 32
    again = gantune("convert", GOLDEN / "stylegan2-uncond-32.pkl", "--out", out)
    assert again.code == 9


def test_generate_draws_one_picture_a_seed(gantune: Run, tmp_path: Path) -> None:
    network = GOLDEN / "stylegan2-cond-16-clamp-fp16.pkl"
    outcome = gantune("generate", network, "--out", tmp_path, "--seeds", "0-1,7", "--class", "3", "--json")
    assert outcome.code == 0, outcome.err
    names = ["seed0000.png", "seed0001.png", "seed0007.png"]
    assert sorted(path.name for path in tmp_path.iterdir()) == names
    assert gantune("generate", network, "--out", tmp_path, "--seeds", "7").code == 9
    assert gantune("generate", network, "--out", tmp_path / "b", "--seeds", "7-3").code == 2
    assert gantune("generate", network, "--out", tmp_path / "b", "--class", "9").code == 2


def test_a_dry_run_prints_the_plan_and_writes_nothing(gantune: Run, tmp_path: Path) -> None:
    network, out = GOLDEN / "stylegan2-uncond-32.pkl", tmp_path / "run"
    outcome = gantune("optimize", network, "--out", out, "--dry-run", "--json")
    assert outcome.code == 0, outcome.err
    plan = json.loads(outcome.out)
    assert plan["family"] == "stylegan2"
    assert plan["candidates"]
    assert not out.exists()
    assert "openvino" in gantune("optimize", network, "--out", out, "--dry-run").out


IN_A_PROCESS_WITHOUT_TORCH = """
import sys
sys.modules["torch"] = None
import numpy as np
import gantune.runtime
artifact = gantune.runtime.load(sys.argv[1])
stored = np.load(sys.argv[2])
np.savez(sys.argv[3], **{n: artifact(z=stored[n]) for n in stored.files})
"""


@pytest.mark.slow
@pytest.mark.ci
def test_optimize_leaves_an_exact_artifact_that_runs_without_torch(gantune: Run, tmp_path: Path) -> None:
    from gantune import load

    network, out = GOLDEN / "stylegan2-uncond-32.pkl", tmp_path / "run"
    outcome = gantune("optimize", network, "--out", out, "--precision", "fp32", "--rounds", "5", "--json")
    assert outcome.code == 0, outcome.err
    report = json.loads(outcome.out)
    assert json.loads((out / "report.json").read_text()) == report
    kept = [candidate for candidate in report["candidates"] if candidate["status"] == "kept"]
    assert kept
    assert report["best"]["quality"]["is_exact"]
    assert {path.name for path in out.iterdir()} == {
        "artifact", "blind.html", "plan.yaml", "report.html", "report.json", "samples.png",
    }  # fmt: skip
    if report["best"]["engine"] not in ("onnxruntime", "openvino"):
        pytest.fail(f"the best engine needs torch: {report['best']['name']}")
    latents = {
        f"n{n}": np.random.default_rng(n).standard_normal((n, 32), dtype=np.float32) for n in (1, 3, 8)
    }
    np.savez(tmp_path / "z.npz", **latents)
    subprocess.run(
        [
            sys.executable,
            "-c",
            IN_A_PROCESS_WITHOUT_TORCH,
            out / "artifact",
            tmp_path / "z.npz",
            tmp_path / "y.npz",
        ],
        check=True,
        env=os.environ,
    )
    check_exact(load(network), latents, np.load(tmp_path / "y.npz"))


def check_exact(network: object, latents: dict[str, np.ndarray], images: dict[str, np.ndarray]) -> None:
    import torch

    for name, z in latents.items():
        with torch.inference_mode():
            expected = network(torch.from_numpy(z)).numpy()  # type: ignore[operator]
        assert np.abs(images[name] - expected).max() <= 1e-4 * max(1, np.abs(expected).max())


def test_doctor_says_what_is_wrong_with_a_file(gantune: Run, tmp_path: Path) -> None:
    damaged = tmp_path / "network.pkl"
    damaged.write_bytes((GOLDEN / "stylegan2-uncond-32.pkl").read_bytes()[:5000])
    outcome = gantune("doctor", damaged)
    assert outcome.code == 0, outcome.err
    assert "conversion failed" in outcome.out
    assert "answer" in outcome.out
    document = json.loads(gantune("doctor", damaged, "--json").out)
    assert [leaf["name"] for leaf in document["leaves"] if leaf["is_cause"]] == ["refused file"]
    assert gantune("doctor", tmp_path / "nothing").code == 2
