"""The run as a whole, with building and timing made up: what is kept, undone, resumed and refused."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest
import torch

from artifact_samples import write_onnx_artifact
from gantune.errors import UnavailableError
from gantune.networks.catalogue import build_network
from gantune.optimizing import OptimizeOptions, loop, make_plan, run_plan, workbench
from gantune.optimizing.build import BuildResult
from gantune.optimizing.optimize import write_network
from gantune.optimizing.run_folder import read_plan
from gantune.optimizing.trial import QualityResult
from gantune.optimizing.verify import Verification
from gantune.records.candidate import ImageQuality, Interval, Latency, Measurement
from gantune.records.fallback import FormFallback
from gantune.records.measurement import Comparison, SubjectResult
from gantune.records.report import LayerTime, Report
from network_samples import SMALL_GENERATORS

QUALITY = ImageQuality(
    psnr_db=50, snr_db=50, identical=False, ssim=0.99, max_abs=0.01, is_exact=False, spectrum_db=0.1
)

SLOWER = FormFallback(operation="upfirdn2d", wanted="native", used="portable", reason="it was not built")


@pytest.fixture
def network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GANTUNE_CACHE", str(tmp_path / "cache"))
    torch.manual_seed(0)
    path = tmp_path / "network.safetensors"
    write_network(build_network("dcgan", SMALL_GENERATORS["dcgan"]), path)
    return path


class MadeUp:
    """Stand in for everything slow; `latencies_ms` are by candidate, 10 where none is given."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, latencies_ms: Mapping[str, float]) -> None:
        self.latencies_ms = latencies_ms
        self.built: list[str] = []
        self.compared: list[list[str]] = []
        monkeypatch.setattr(workbench, "build_candidate", self.build)
        monkeypatch.setattr(workbench, "judge_images", self.judge)
        monkeypatch.setattr(workbench, "run_original", lambda *a, **k: np.zeros((8, 3, 8, 8), np.float32))
        monkeypatch.setattr(workbench, "compare_subjects", self.compare)
        monkeypatch.setattr(workbench, "describe_bottleneck", lambda network, planned, *a, **k: planned.name)
        layer = LayerTime(name="a", kind="Conv2d", time_ms=1, share=1)
        monkeypatch.setattr(loop, "verify_best", lambda *a, **k: Verification(layers=(layer,)))

    def build(self, network: object, planned: object, folder: Path, **_: object) -> BuildResult:
        name = str(getattr(planned, "name", ""))
        self.built.append(name)
        write_onnx_artifact(folder)
        fallbacks = (SLOWER,) if name.startswith("torch") else ()
        return BuildResult(name=name, status="built", size_bytes=10, fallbacks=fallbacks)

    def judge(
        self, subject: object, arrays: object, expected: object, output: object, keep: Path
    ) -> QualityResult:
        np.save(keep, np.zeros((8, 3, 8, 8), np.float32))
        return QualityResult(name=str(getattr(subject, "name", "")), quality=QUALITY)

    def compare(
        self, subjects: Sequence[object], options: object, eliminate: object = None, **_: object
    ) -> Comparison:
        names = [str(getattr(subject, "name", "")) for subject in subjects]
        self.compared.append(names)
        times = {
            name: self.latencies_ms.get(name, 100.0 if name in ("as_is", "tuned") else 10.0) for name in names
        }
        stopped = {} if eliminate is None else eliminate({name: [ms] * 3 for name, ms in times.items()})  # type: ignore[operator]
        baselines = [name for name in getattr(options, "baselines", ()) if name in times]
        return Comparison(
            results=tuple(
                SubjectResult(
                    name=name,
                    status="measured",
                    batch_size=1,
                    measured=measured(ms),
                    fallbacks=(SLOWER,) if name == "openvino-fp32" else (),
                )
                for name, ms in times.items()
            ),
            speedups={
                name: {base: exactly(times[base] / ms) for base in baselines} for name, ms in times.items()
            },
            num_rounds=15,
            is_complete=True,
            stopped=stopped,
        )


def exactly(ratio: float) -> Interval:
    return Interval(median=ratio, low=ratio, high=ratio)


def measured(ms: float) -> Measurement:
    return Measurement(
        latency_ms=Latency(p50=ms, p90=ms, mean=ms, n=15), throughput_images_s=1000 / ms, peak_bytes=1000,
        minor_faults=0, load_ms=1, first_call_ms=1,
    )  # fmt: skip


def options() -> OptimizeOptions:
    return OptimizeOptions(threads=2, rounds=3)


def test_a_kept_change_becomes_the_artifact_and_the_plan_remembers_it(
    network: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made_up = MadeUp(monkeypatch, {"openvino-fp32": 5.0, "openvino-fp32+half-threads": 4.0})
    result = run_plan(network, make_plan(network, options()), tmp_path / "run")
    assert result.best is not None
    assert result.best.name == "openvino-fp32+half-threads"
    assert made_up.compared[-1] == ["as_is", "tuned", "openvino-fp32", "openvino-fp32+half-threads"]
    search = result.report.search
    assert search is not None
    assert search.changes[0].bottleneck_after == "openvino-fp32+half-threads"
    assert "torch-bf16" in search.stopped
    names = [line.name for line in read_plan(tmp_path / "run" / "plan.yaml").candidates]
    assert "openvino-fp32+half-threads" in names


def test_one_that_waits_is_built_only_where_the_other_cannot_be_kept(
    network: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made_up = MadeUp(monkeypatch, {})
    report = run_plan(network, make_plan(network, options()), tmp_path / "inside").report
    (skipped,) = (line for line in report.plan.candidates if line.name == "torch-fp32")
    assert skipped.is_skipped
    assert "torch-bf16, which is inside the budget" in skipped.why
    assert "torch-fp32" not in made_up.built
    lines = read_plan(tmp_path / "inside" / "plan.yaml").candidates
    assert not next(line for line in lines if line.name == "torch-fp32").is_skipped
    monkeypatch.setattr(workbench, "find_image_violations", lambda *a, **k: ["too dark"])
    run_plan(network, make_plan(network, options()), tmp_path / "outside")
    assert "torch-fp32" in made_up.built


def test_a_slower_form_is_reported_once_with_all_that_took_it(
    network: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    MadeUp(monkeypatch, {"openvino-fp32": 5.0})
    out = run_plan(network, make_plan(network, options()), tmp_path / "run").out
    (told,) = Report.model_validate_json((out / "report.json").read_text()).fallbacks
    assert {"torch-bf16", "openvino-fp32"} <= set(told.subjects)
    assert told.model_copy(update={"subjects": ()}) == SLOWER
    assert (out / "report.html").read_text().count("upfirdn2d ran in its portable form") == 1


def test_a_change_that_was_undone_is_never_the_best(
    network: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    MadeUp(monkeypatch, {"openvino-fp32": 5.0, "openvino-fp32+half-threads": 4.99})
    result = run_plan(network, make_plan(network, options()), tmp_path / "run")
    assert result.best is not None
    assert result.best.name == "openvino-fp32"
    search = result.report.search
    assert search is not None
    assert not search.changes[0].is_kept


def test_a_second_run_reuses_what_the_first_has_built(
    network: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = MadeUp(monkeypatch, {})
    run_plan(network, make_plan(network, options()), tmp_path / "a")
    again = MadeUp(monkeypatch, {})
    result = run_plan(network, make_plan(network, options()), tmp_path / "b")
    assert first.built
    assert not again.built
    assert result.report.search is not None
    assert result.report.search.num_reused >= len(first.built)


def test_an_interrupted_run_goes_on_where_it_was(
    network: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = make_plan(network, options())
    made_up = MadeUp(monkeypatch, {})

    def interrupt(*_: object, **__: object) -> Comparison:
        raise KeyboardInterrupt

    monkeypatch.setattr(workbench, "compare_subjects", interrupt)
    with pytest.raises(Exception, match="Repeat the same command"):
        run_plan(network, plan, tmp_path / "run")
    built = list(made_up.built)
    monkeypatch.setattr(workbench, "compare_subjects", made_up.compare)
    run_plan(network, plan, tmp_path / "run")
    assert [name for name in made_up.built if "+" not in name] == built


def test_a_branch_without_an_engine_here_is_unavailable_and_says_what_is_missing(
    network: Path, tmp_path: Path
) -> None:
    plan = make_plan(network, OptimizeOptions(target="nvidia"))
    with pytest.raises(UnavailableError, match="not installed"):
        run_plan(network, plan, tmp_path / "run")
    assert not (tmp_path / "run").exists()
