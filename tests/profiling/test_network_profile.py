"""The profile of a network: measured gains in findings, layers on the roofline, recorded calls."""

from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from gantune.checkpoints.content import CheckpointContent, NetworkContent
from gantune.checkpoints.safetensors_file import write_safetensors
from gantune.measuring import CheckpointSource, Subject
from gantune.networks.catalogue import build_network
from gantune.profiling.capture import capture_calls
from gantune.profiling.layer_profile import place_on_roofline, profile_layers
from gantune.profiling.network_profile import (
    NetworkProfileOptions,
    bound_by_roofline,
    warn_of_fallbacks,
    with_batch_gain,
    with_measured_gains,
)
from gantune.profiling.remedies import Remedy, Trial, list_remedies
from gantune.profiling.run import profile_checkpoint
from gantune.profiling.scene import see
from gantune.records.candidate import Interval
from gantune.records.fallback import FormFallback
from gantune.records.measurement import Comparison, SubjectResult
from gantune.records.profile import Evidence, ExpectedGain, Finding, LayerProfile, Roofline

ROOFLINE = Roofline(convolution_gflops=100, copy_gb_s=10, threads=1)


class Two(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.convolution = nn.Conv2d(8, 16, 3, padding=1)
        self.activation = nn.ReLU()

    def forward(self, x: Tensor) -> Tensor:
        result: Tensor = self.activation(self.convolution(x))
        return result


def test_layers_have_their_macs_and_bytes() -> None:
    # Large enough that the activation takes its 0.2 % of a call also when the machine is busy.
    layers = {one.name: one for one in profile_layers(Two(), {"x": torch.ones(1, 8, 128, 128)}, ROOFLINE)}
    pixels = 128 * 128
    assert layers["convolution"].macs == 8 * 16 * 9 * pixels
    # Weight and bias, the input and the output, 4 bytes each.
    assert layers["convolution"].bytes == 4 * (16 * 8 * 9 + 16 + 8 * pixels + 16 * pixels)
    assert layers["activation"].macs == 0
    assert layers["activation"].bytes == 4 * 2 * 16 * pixels


@pytest.mark.parametrize(
    ("macs", "num_bytes", "expected"),
    [
        # 10⁹ MACs are 2 GFLOP: 20 ms at 100 GFLOP/s, a fifth of 100 ms.
        (10**9, 0, 0.2),
        # 10⁸ bytes take 10 ms at 10 GB/s.
        (0, 10**8, 0.1),
        (10**9, 10**8, 0.2),
        (0, 0, None),
    ],
)
def test_the_place_on_the_roofline_is_the_slower_of_two_lines(
    macs: int, num_bytes: int, expected: float | None
) -> None:
    assert place_on_roofline(100, macs, num_bytes, ROOFLINE) == (
        None if expected is None else pytest.approx(expected)
    )


@pytest.mark.slow
def test_recorded_calls_have_steps_operators_shapes_and_memory() -> None:
    network, x = Two().eval(), torch.ones(1, 8, 64, 64)
    scene = see(capture_calls(lambda: network(x), num_calls=3))
    assert len(scene.seen.steps) == 3
    assert "aten::conv2d" in scene.seen.trace.names
    assert any("[1, 8, 64, 64]" in shape for shape in scene.seen.trace.shapes)
    assert scene.seen.trace.memory.total_bytes.max() >= 16 * 64 * 64 * 4


def trial(**gains: tuple[float, float, float]) -> Trial:
    remedies = tuple(
        Remedy(name, name, Subject(name=name, source=CheckpointSource(path=Path("x"))), f"do {name}")  # type: ignore[arg-type]
        for name in gains
    )
    speedups = {
        name: {"as_is": Interval(median=middle, low=low, high=high)}
        for name, (middle, low, high) in gains.items()
    }
    return Trial(Comparison(results=(), speedups=speedups, num_rounds=9, is_complete=True), remedies)


def finding(kind: str, share: float) -> Finding:
    return Finding(
        kind=kind,  # type: ignore[arg-type]
        share=share,
        evidence=(Evidence(text="seen"),),
        confidence="medium",
        remedy="mend it",
        expected_gain=ExpectedGain(low=1, high=1 / (1 - share)),
    )


def test_a_measured_gain_confirms_a_finding_and_sets_its_share() -> None:
    (found,) = with_measured_gains((finding("allocator", 0.3),), trial(allocator=(2.0, 1.8, 2.2)))
    assert found.measured_gain == Interval(median=2.0, low=1.8, high=2.2)
    assert (found.share, found.confidence) == (0.5, "high")


def test_a_remedy_that_brings_nothing_takes_confidence_away() -> None:
    (found,) = with_measured_gains((finding("allocator", 0.3),), trial(allocator=(0.98, 0.9, 1.1)))
    assert (found.share, found.confidence) == (0.3, "low")


def test_what_only_trying_shows_becomes_a_finding_and_ranks_by_its_share() -> None:
    found = with_measured_gains(
        (finding("precision", 0.3),), trial(memory_layout=(2.0, 1.7, 2.3), threads=(1.02, 0.98, 1.06))
    )
    assert [one.kind for one in found] == ["memory_layout", "precision"]
    assert found[0].share == 0.5
    assert found[0].remedy == "do memory_layout"


def test_a_gain_ends_nothing_to_mend() -> None:
    found = with_measured_gains((finding("nothing_to_mend", 0.0),), trial(allocator=(1.5, 1.4, 1.6)))
    assert [one.kind for one in found] == ["allocator"]


def test_the_gain_of_dense_operators_is_bounded_by_the_roofline() -> None:
    layer = LayerProfile(name="a", kind="Conv2d", time_ms=10, share=1, macs=10, bytes=1, roofline_share=0.8)
    dominant = finding("dominant_operator", 0.9)
    (plain,) = bound_by_roofline((dominant,), (layer,), ROOFLINE)
    faster = ROOFLINE.model_copy(update={"bfloat16_speedup": 4.0})
    (reduced,) = bound_by_roofline((dominant,), (layer,), faster)
    assert plain.expected_gain is not None
    assert reduced.expected_gain is not None
    # 0.9 of the time could shrink to 0.8 of itself, or with four times the speed to a fifth.
    assert plain.expected_gain.high == pytest.approx(1 / (0.1 + 0.9 * 0.8))
    assert reduced.expected_gain.high == pytest.approx(1 / (0.1 + 0.9 * 0.2))


def test_what_a_larger_batch_gained_is_said_of_the_small_one() -> None:
    gain = Interval(median=2.5, low=2.4, high=2.6)
    small, other = with_batch_gain((finding("batch_size", 0.7), finding("allocator", 0.2)), gain)
    assert (small.measured_gain, other.measured_gain) == (gain, None)
    assert "8 times the batch: 2.50×" in small.evidence[-1].text
    assert with_batch_gain((other,), None) == (other,)


def test_remedies_change_one_thing_each() -> None:
    remedies = {one.name: one.subject for one in list_remedies(Path("x"), threads=2, num_cores=2)}
    assert remedies["allocator"].environment
    assert remedies["layout"].source == CheckpointSource(path=Path("x"), is_channels_last=True)
    assert remedies["operations"].source == CheckpointSource(path=Path("x"), implementation="auto")
    assert "bfloat16" not in remedies
    listed = list_remedies(Path("x"), threads=2, num_cores=2, instruction_sets=("avx512_bf16",))
    reduced = next(one for one in listed if one.name == "bfloat16")
    assert reduced.subject.source == CheckpointSource(path=Path("x"), is_channels_last=True, is_autocast=True)
    assert remedies["1 thread"].threads == 1
    assert "2 threads" not in remedies


@pytest.mark.slow
def test_a_checkpoint_s_profile_is_whole(tmp_path: Path) -> None:
    config = {"num_feat": 8, "num_conv": 2, "upscale": 2}
    state = build_network("srvgg", config).state_dict()
    content = CheckpointContent("safetensors", {"generator": NetworkContent("srvgg", config, state)})
    path = tmp_path / "network.safetensors"
    write_safetensors(content, path)
    options = NetworkProfileOptions(threads=1, image_size=16, num_rounds=2)
    found = profile_checkpoint(path, options, command="", out=tmp_path / "out")
    assert found.subject == "network"
    assert found.layers
    assert found.roofline is not None
    assert found.roofline.convolution_gflops > 1
    assert found.calls is not None
    assert found.calls.first_ms > 0
    assert {path.name for path in (tmp_path / "out").iterdir()} == {
        "profile.json",
        "profile.html",
        "trace.json.gz",
        "tensorboard",
    }


def test_a_slower_form_of_a_remedy_is_a_warning_with_its_reason() -> None:
    fallback = FormFallback(operation="bias_act", wanted="native", used="portable", reason="not built")
    results = tuple(
        SubjectResult(name=name, status="measured", batch_size=1, fallbacks=found)
        for name, found in (("as_is", ()), ("operations", (fallback,)))
    )
    comparison = Comparison(results=results, speedups={}, num_rounds=1, is_complete=True)
    assert warn_of_fallbacks(Trial(comparison, ())) == (
        "bias_act ran in its portable form instead of native in operations: not built",
    )
