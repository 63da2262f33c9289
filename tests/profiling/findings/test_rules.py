"""Each rule on a trace written for it, and on one that lacks its cause."""

from pathlib import Path

import pytest

from gantune.profiling.findings import RULES, diagnose
from gantune.profiling.observation import Observation, ProcessCounters
from gantune.profiling.scene import Scene
from gantune.records.profile import FINDING_KINDS, Finding
from trace_writer import A100, Event, event, kernel, launch, scene_of, steps


def busy_device(count: int, *, every_us: float, kernel_us: float, ahead_us: float) -> list[Event]:
    """Launch a kernel every so often, `ahead_us` before it runs."""
    events = [launch(i * every_us, link=i + 1) for i in range(count)]
    return events + [
        kernel("at::native::add", i * every_us + ahead_us, kernel_us, link=i + 1) for i in range(count)
    ]


def first(folder: Path, events: list[Event], *, device: Event | None = None) -> Finding:
    return diagnose(scene_of(folder, events, device=device))[0]


def test_every_kind_of_the_catalogue_is_known() -> None:
    kinds = {rule.__module__.rsplit(".", 1)[-1] for rule in RULES}
    assert kinds | {"nothing_to_mend"} == set(FINDING_KINDS)


def test_a_full_queue_has_nothing_to_mend(tmp_path: Path) -> None:
    events = steps(2, 5000) + busy_device(100, every_us=100, kernel_us=99, ahead_us=20)
    assert first(tmp_path, events).kind == "nothing_to_mend"


def test_short_kernels_that_find_an_empty_queue_are_launch_bound(tmp_path: Path) -> None:
    events = steps(2, 5000) + busy_device(100, every_us=100, kernel_us=5, ahead_us=10)
    found = first(tmp_path, events)
    # 100 kernels of 5 µs in 10 ms: the device is idle for 95 %, the last gap of it included.
    assert (found.kind, found.share) == ("launch_bound", pytest.approx(0.95, abs=0.01))
    assert found.expected_gain is not None
    assert found.expected_gain.high == pytest.approx(1 / 0.05, rel=0.05)


def test_short_kernels_from_a_full_queue_are_not_launch_bound(tmp_path: Path) -> None:
    launches = [launch(i * 6.0, link=i + 1) for i in range(100)]
    kernels = [kernel("at::native::add", 600 + i * 6.0, 5.5, link=i + 1) for i in range(100)]
    assert first(tmp_path, launches + kernels).kind != "launch_bound"


def test_waiting_for_a_busy_device_costs_nothing(tmp_path: Path) -> None:
    events = [*steps(1, 10_000), launch(0, link=1), kernel("at::native::conv", 10, 9900, link=1)]
    events.append(launch(20, link=0, duration_us=9890, name="cudaDeviceSynchronize"))
    assert first(tmp_path, events).kind == "nothing_to_mend"


def test_a_copy_that_empties_the_queue_is_synchronization(tmp_path: Path) -> None:
    events = steps(1, 10_000)
    for i in range(10):
        events += [launch(i * 1000, link=i + 1), kernel("at::native::x", i * 1000 + 10, 400, link=i + 1)]
        events.append(launch(i * 1000 + 20, link=100 + i, duration_us=900, name="cudaMemcpyAsync"))
    found = first(tmp_path, events)
    assert (found.kind, found.share) == ("synchronization", pytest.approx(0.6, abs=0.02))


def test_a_loader_that_leaves_the_device_idle_is_data_loading(tmp_path: Path) -> None:
    events = [*steps(2, 1000), event("cpu_op", "aten::x", 700, 20), kernel("at::native::x", 0, 1, link=0)]
    for i in range(2):
        events += [
            event(
                "user_annotation",
                "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__",
                i * 1000,
                600,
            ),
            launch(i * 1000 + 610, link=i + 1),
            kernel("at::native::conv", i * 1000 + 620, 370, link=i + 1),
        ]
    found = first(tmp_path, events)
    assert (found.kind, found.share) == ("data_loading", pytest.approx(0.6, abs=0.01))
    assert "num_workers" in found.remedy


def test_a_loader_beside_a_busy_device_costs_nothing(tmp_path: Path) -> None:
    events = [*steps(1, 1000), launch(0, link=1), kernel("at::native::conv", 5, 990, link=1)]
    events.append(event("user_annotation", "enumerate(DataLoader)#x.__next__", 100, 600))
    assert first(tmp_path, events).kind == "nothing_to_mend"


def test_a_square_block_in_float64_is_launch_geometry(tmp_path: Path) -> None:
    events = steps(1, 10_000)
    for i in range(10):
        name = "void upfirdn2d_kernel_large<double>(upfirdn2d_kernel_params)"
        shape = {"grid": [16, 16, 1], "block": [16, 16, 1], "est. achieved occupancy %": 60}
        events += [launch(i * 1000, link=i + 1), kernel(name, i * 1000 + 10, 980, link=i + 1, **shape)]
    found = first(tmp_path, events, device=A100)
    assert found.kind == "launch_geometry"
    text = found.evidence[0].text
    assert "float64" in text
    assert "16×16 block" in text


def test_few_blocks_are_measured_against_the_device_s_processors(tmp_path: Path) -> None:
    shape = {"grid": [27, 1, 1], "block": [256, 1, 1]}
    events = [*steps(1, 1000), launch(0, link=1), kernel("my_kernel", 10, 980, link=1, **shape)]
    found = {one.kind: one for one in diagnose(scene_of(tmp_path, events, device=A100))}["launch_geometry"]
    assert "27 blocks for 108 processors" in found.evidence[0].text
    # A quarter of the processors work: three quarters of the kernel's time could go.
    assert found.share == pytest.approx(0.98 * 0.75, abs=0.01)


def test_a_library_s_geometry_is_its_own(tmp_path: Path) -> None:
    shape = {"grid": [27, 1, 1], "block": [256, 1, 1]}
    events = [*steps(1, 1000), launch(0, link=1), kernel("cudnn::conv", 10, 980, link=1, **shape)]
    assert "launch_geometry" not in {one.kind for one in diagnose(scene_of(tmp_path, events, device=A100))}


def test_exposed_collectives_are_communication(tmp_path: Path) -> None:
    events = [*steps(1, 1000), launch(0, link=1), kernel("at::native::conv", 5, 395, link=1)]
    events.append(kernel("ncclKernel_AllReduce", 300, 690))
    found = first(tmp_path, events)
    assert (found.kind, found.share) == ("communication", pytest.approx(0.59, abs=0.005))


def test_host_events_that_need_a_device_without_its_events_cannot_be_judged(tmp_path: Path) -> None:
    events = [*steps(1, 1000), event("cpu_op", "aten::mm", 0, 900), launch(10, link=1)]
    assert first(tmp_path, events).kind == "cannot_judge_gpu"


def operators(name: str, count: int, length_us: float, **args: object) -> list[Event]:
    return [event("cpu_op", name, i * length_us, length_us, **args) for i in range(count)]


def test_float64_on_the_cpu_is_precision(tmp_path: Path) -> None:
    args = {"Input Dims": [[64, 64], [64, 64]], "Input type": ["double", "double"]}
    events = steps(1, 1000) + operators("aten::mul", 5, 100, **args)
    events += [event("cpu_op", f"aten::op{i}", 500 + 100 * i, 100) for i in range(5)]
    found = first(tmp_path, events)
    assert (found.kind, found.share) == ("precision", pytest.approx(0.5))
    assert found.expected_gain is not None
    assert found.expected_gain.high == pytest.approx(1 / 0.75)


def test_float64_scalars_are_no_precision(tmp_path: Path) -> None:
    args = {"Input Dims": [[64, 64], []], "Input type": ["float", "double"]}
    events = steps(1, 1000) + [event("cpu_op", f"aten::op{i}", 100 * i, 100, **args) for i in range(10)]
    assert first(tmp_path, events).kind == "nothing_to_mend"


def test_thousands_of_tiny_operators_on_the_cpu_are_launch_bound(tmp_path: Path) -> None:
    events = steps(1, 10_000) + [event("cpu_op", f"aten::op{i % 9}", 5 * i, 4) for i in range(2000)]
    assert first(tmp_path, events).kind == "launch_bound"


def test_a_loop_over_the_parts_of_a_tensor_is_python_and_no_launch_bound(tmp_path: Path) -> None:
    names = ("aten::select", "aten::mul", "aten::copy_")
    events = steps(1, 10_000) + [event("cpu_op", names[i % 3], 5 * i, 4) for i in range(1500)]
    found = first(tmp_path, events)
    # 500 parts, 15 µs apart: 499 pauses between them are 7.5 of 10 ms.
    assert (found.kind, found.share) == ("python_overhead", pytest.approx(0.7485))
    assert "500 times a step" in found.evidence[0].text


def test_a_small_batch_is_named_before_its_many_small_operators(tmp_path: Path) -> None:
    # Of two operators one is below 10 µs, and both are below 30 µs.
    lengths = (4, 14)
    events = steps(1, 30_000) + [event("cpu_op", f"aten::op{i}", 15 * i, lengths[i % 2]) for i in range(2000)]
    scene = scene_of(tmp_path, events)
    assert counted(scene, ProcessCounters(batch_size=1))[0].kind == "batch_size"
    assert counted(scene, ProcessCounters(batch_size=64))[0].kind == "launch_bound"


def test_a_larger_batch_gains_what_is_the_same_for_every_size_and_no_more(tmp_path: Path) -> None:
    # 1000 calls of ten operators take 20 µs each, but for one call of each, which takes 5 µs; then 5 µs pass.
    events = steps(1, 30_000)
    for i in range(1000):
        events.append(event("cpu_op", f"aten::op{i % 10}", 25 * i, 5 if i < 10 else 20))
    found = counted(scene_of(tmp_path, events), ProcessCounters(batch_size=1))[0]
    assert (found.kind, found.share) == ("batch_size", pytest.approx(25 / 30, abs=0.01))
    assert found.expected_gain is not None
    # 5 µs of work and 5 µs of dispatch a call, of which 7/8 go at 8 times the batch.
    assert found.expected_gain.high == pytest.approx(1 / (1 - 10 / 30 * 7 / 8), rel=0.02)


@pytest.mark.parametrize(("then", "is_loop"), [("aten::mul", True), ("aten::item", False)])
def test_a_value_that_is_read_is_no_part_that_is_worked_on(tmp_path: Path, then: str, is_loop: bool) -> None:
    events = steps(1, 30_000)
    for i in range(300):
        events += [event("cpu_op", "aten::select", 100 * i, 4), event("cpu_op", then, 100 * i + 5, 2)]
        events.append(event("cpu_op", "aten::conv2d", 100 * i + 8, 90))
    found = {one.kind for one in diagnose(scene_of(tmp_path, events))}
    assert ("python_overhead" in found) is is_loop


@pytest.mark.parametrize("is_nested", [True, False])
def test_what_operators_call_inside_is_no_loop_of_the_script(tmp_path: Path, is_nested: bool) -> None:
    # Half of the operators are one, called 1000 times: inside of the others, or by the script after them.
    events = steps(1, 15_000)
    for i in range(1000):
        events.append(event("cpu_op", f"aten::op{i}", 15 * i, 14 if is_nested else 7))
        events.append(event("cpu_op", "aten::empty", 15 * i + (3 if is_nested else 7.5), 7))
    found = counted(scene_of(tmp_path, events), ProcessCounters(batch_size=1))
    assert ("batch_size" in {one.kind for one in found}) is is_nested


def test_time_between_operators_is_python_and_names_the_line(tmp_path: Path) -> None:
    events = steps(1, 10_000) + [event("cpu_op", f"aten::op{i}", 1000 * i, 300) for i in range(10)]
    events += [
        event("python_function", "train.py(12): loop", 0, 9900, thread=2),
        event("python_function", "site-packages/numpy/x.py(3): f", 100, 5000, thread=2),
    ]
    found = first(tmp_path, events)
    assert (found.kind, found.share) == ("python_overhead", pytest.approx(0.7))
    assert found.evidence[0].source_line == "train.py:12"


def test_dense_work_in_training_is_no_dominant_operator(tmp_path: Path) -> None:
    shapes = [{"Input Dims": [[8, c, 64, 64]], "Input type": ["float"]} for c in (16, 32, 64, 128)]
    events = steps(1, 1000) + [
        event("cpu_op", "aten::mkldnn_convolution", 200 * i, 200, **shape) for i, shape in enumerate(shapes)
    ]
    events.append(event("cpu_op", "ConvolutionBackward0", 800, 200))
    assert first(tmp_path, events).kind == "nothing_to_mend"


def test_one_layer_that_dominates_training_is_a_dominant_operator(tmp_path: Path) -> None:
    args = {"Input Dims": [[8, 4096, 4096]], "Input type": ["float"]}
    events = [*steps(1, 1000), event("cpu_op", "aten::bmm", 0, 700, **args)]
    events.append(event("cpu_op", "ConvolutionBackward0", 700, 300))
    found = first(tmp_path, events)
    assert (found.kind, found.share) == ("dominant_operator", pytest.approx(0.7))


def test_a_penalty_in_every_step_is_regularization_and_a_lazy_one_is_not(tmp_path: Path) -> None:
    every = steps(4, 1000) + [event("user_annotation", "R1 penalty", 1000 * i, 400) for i in range(4)]
    every += [event("cpu_op", f"aten::op{i}", 100 * i, 100) for i in range(40)]
    found = first(tmp_path, every)
    assert (found.kind, found.share) == ("regularization", pytest.approx(0.4))
    lazy = [one for one in every if one["name"] != "R1 penalty" or one["ts"] == 0]
    assert "regularization" not in {one.kind for one in diagnose(scene_of(tmp_path, lazy))}


def test_a_metric_in_every_step_is_evaluation_and_one_now_and_then_is_not(tmp_path: Path) -> None:
    every = steps(4, 1000)
    every += [event("user_annotation", "metrics: without gradients", 1000 * i + 400, 300) for i in range(4)]
    every += [event("cpu_op", f"aten::op{i}", 100 * i, 100) for i in range(40)]
    found = first(tmp_path, every)
    assert (found.kind, found.share) == ("evaluation", pytest.approx(0.3))
    # The operators that begin within a metric of 0.4 to 0.7 of its step.
    assert set(found.evidence[0].events) <= {f"aten::op{i}" for i in range(40) if 4 <= i % 10 < 7}
    rare = [one for one in every if "metrics" not in one["name"] or one["ts"] < 1000]
    assert "evaluation" not in {one.kind for one in diagnose(scene_of(tmp_path, rare))}


@pytest.mark.parametrize(
    ("around", "is_named"),
    [
        ("aten::to", True),
        ("autograd::engine::evaluate_function: CloneBackward0", True),
        ("autograd::engine::evaluate_function: OwnLayoutBackward", True),
        ("aten::convolution_backward", False),
        ("aten::upsample_nearest2d", False),
    ],
)
def test_only_copies_that_the_script_asks_for_are_its_layout(
    tmp_path: Path, around: str, is_named: bool
) -> None:
    events = steps(1, 1000)
    events += [event("cpu_op", around, 100, 300), event("cpu_op", "aten::clone", 101, 298)]
    events += [event("cpu_op", "aten::copy_", 102, 290), event("cpu_op", "aten::conv2d", 400, 600)]
    kinds = {finding.kind for finding in diagnose(scene_of(tmp_path, events))}
    assert ("memory_layout" in kinds) is is_named


def counted(scene: Scene, counters: ProcessCounters) -> tuple[Finding, ...]:
    return diagnose(Scene(Observation(scene.seen.trace, counters)))


def test_page_faults_are_the_allocator_s(tmp_path: Path) -> None:
    events = steps(1, 100_000) + [event("cpu_op", f"aten::op{i}", 1000 * i, 1000) for i in range(100)]
    scene = scene_of(tmp_path, events)
    found = counted(scene, ProcessCounters(minor_faults=50_000))[0]
    # 50,000 faults at 1 µs in a step of 100 ms.
    assert (found.kind, found.share) == ("allocator", pytest.approx(0.5))
    assert counted(scene, ProcessCounters(minor_faults=100))[0].kind == "nothing_to_mend"


@pytest.mark.parametrize(("duration_us", "is_named"), [(2000, True), (20, False)])
def test_only_long_convolutions_outside_of_onednn_are_a_setting(
    tmp_path: Path, duration_us: float, is_named: bool
) -> None:
    count = int(10_000 / duration_us)
    events = [
        event("cpu_op", "aten::_slow_conv2d_forward", i * duration_us, duration_us) for i in range(count)
    ]
    kinds = {finding.kind for finding in diagnose(scene_of(tmp_path, [*steps(1, 10_000), *events]))}
    assert ("library_settings" in kinds) is is_named


def test_more_threads_than_cores_are_named(tmp_path: Path) -> None:
    events = steps(1, 100_000) + [event("cpu_op", f"aten::op{i}", 1000 * i, 1000) for i in range(100)]
    scene = scene_of(tmp_path, events)
    assert counted(scene, ProcessCounters(threads=16, num_cores=2))[0].kind == "threads"
    assert counted(scene, ProcessCounters(threads=2, num_cores=2))[0].kind == "nothing_to_mend"
