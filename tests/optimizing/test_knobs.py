import pytest

from gantune.backends import BACKENDS
from gantune.optimizing.build import count_threads, is_allocator_tuned
from gantune.optimizing.knobs import KNOBS, list_changes, list_variants
from gantune.optimizing.planner import plan_candidates
from gantune.optimizing.situation import Situation
from gantune.records.plan import PlannedCandidate


def planned(name: str, family: str = "stylegan2") -> PlannedCandidate:
    situation = Situation(
        family=family, target="cpu", goal="latency", precision="any", instruction_sets=("avx512_bf16",)
    )
    return next(line for line in plan_candidates(situation, BACKENDS) if line.name == name)


def changes(of: PlannedCandidate, *, threads: int = 2, bottleneck: str = "") -> list[str]:
    found = list_changes(of, threads=threads, bottleneck=bottleneck, tried=frozenset())
    return [knob.name for knob, _ in found]


def test_each_knob_changes_the_steps_and_the_name() -> None:
    leader = planned("openvino-bf16")
    for knob, changed in list_changes(leader, threads=2, bottleneck="", tried=frozenset()):
        assert changed.steps != leader.steps
        assert changed.name == f"openvino-bf16+{knob.name}"
        assert knob.why in changed.why


def test_only_style_networks_choose_a_form_and_one_thread_is_not_halved() -> None:
    assert "subpixel" in changes(planned("openvino-bf16"))
    assert "subpixel" not in changes(planned("openvino-bf16", "srvgg"))
    assert "half-threads" in changes(planned("openvino-bf16"))
    assert "half-threads" not in changes(planned("openvino-bf16"), threads=1)


def test_the_threads_and_the_allocator_of_a_changed_candidate_count() -> None:
    by_name = {
        knob.name: changed
        for knob, changed in list_changes(
            planned("openvino-bf16"), threads=4, bottleneck="", tried=frozenset()
        )
    }
    assert count_threads(by_name["half-threads"], 4) == 2
    assert count_threads(by_name["default-allocator"], 4) == 4
    assert not is_allocator_tuned(by_name["default-allocator"])
    assert is_allocator_tuned(by_name["half-threads"])


def test_what_addresses_the_bottleneck_comes_first() -> None:
    assert (
        changes(planned("openvino-bf16"), bottleneck="MatMul layers take 80% of the time")[0]
        == "half-threads"
    )
    assert changes(planned("openvino-bf16"), bottleneck="Deconvolution layers take 80%")[0] == "subpixel"


def test_a_change_is_not_offered_twice() -> None:
    tried = frozenset(knob.name for knob in KNOBS)
    assert not list_changes(planned("openvino-bf16"), threads=2, bottleneck="", tried=tried)


@pytest.mark.parametrize(("family", "count"), [("stylegan2", 12), ("srvgg", 4)])
def test_variants_are_every_combination_once(family: str, count: int) -> None:
    variants = list_variants(planned("openvino-bf16", family), threads=2)
    assert len(variants) == count
    assert len({variant.name for variant in variants}) == count
    assert len({str(variant.steps) for variant in variants}) == count
