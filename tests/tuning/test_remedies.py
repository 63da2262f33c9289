"""Which remedies make sense for a script that was seen once."""

import pytest

from gantune.profiling.script_record import ScriptRecord
from gantune.tuning.remedies import Remedy, list_remedies


def record(**facts: object) -> ScriptRecord:
    return ScriptRecord.model_validate(
        {
            "stage": "plain",
            "source": "optimizer",
            "num_steps": 4,
            "process_id": 1,
            "thread_id": 1,
            "torch": "2",
            "threads": 2,
            "num_cores": 2,
            "window_end_ns": 0,
            **facts,
        }
    )


def reason(name: str, seen: ScriptRecord) -> str | None:
    found = {remedy.name: remedy for remedy in list_remedies(seen)}
    return found[name].why_not(seen)


def test_threads_that_are_set_already_are_not_tried() -> None:
    assert reason("2 threads", record()) == "it has 2 already"
    assert reason("1 thread", record()) is None
    assert reason("2 threads", record(threads=24)) is None


def test_as_many_workers_are_tried_as_hide_the_loading() -> None:
    plain = {"boundaries": [0, 80, 160], "loads": [(0, 70), (80, 150)]}
    seen = record(loader={"workers": 0}, stages={"plain": plain})
    names = [remedy.name for remedy in list_remedies(seen)]
    # 70 of 80 load: seven workers deliver a batch in the ten that are left.
    assert [name for name in names if "worker" in name] == [
        "1 loader worker",
        "2 loader workers",
        "7 loader workers",
    ]
    assert reason("7 loader workers", seen) is None
    assert reason("1 loader worker", record()) == "the script has no DataLoader"
    assert reason("1 loader worker", record(loader={"workers": 3})) == "its DataLoader has workers"


def test_more_workers_are_tried_where_those_that_a_remedy_gave_do_not_hide_the_loading() -> None:
    plain = {"boundaries": [0, 80, 160], "loads": [(0, 60), (80, 140)]}
    ours = ["gantune.tuning.apply:load_in_workers:1"]
    seen = record(loader={"workers": 1}, stages={"plain": plain}, remedies=ours)
    # One worker needs 80 for a batch; four deliver one in the 20 that are left.
    assert reason("4 loader workers", seen) is None
    assert reason("1 loader worker", seen) == "its DataLoader has 1"


def test_networks_are_not_compiled_where_a_penalty_differentiates_twice() -> None:
    seen = record(stages={"warm-up": {"grads": [(0, 1, True, True)]}})
    assert "differentiate twice" in str(reason("compiled networks", seen))


@pytest.mark.parametrize("name", ["cudnn.benchmark", "pinned memory and asynchronous copies"])
def test_what_only_a_gpu_gains_by_is_not_tried_without_one(name: str) -> None:
    assert reason(name, record()) == "there is no GPU here"
    assert reason(name, record(cuda=True)) is None


def test_optimizers_that_are_fused_already_are_left_alone() -> None:
    assert "none of Adam" in str(reason("fused optimizer", record()))
    assert reason("fused optimizer", record(optimizers=[{"kind": "Adam"}])) is None
    fused = record(optimizers=[{"kind": "Adam", "is_fused": True}])
    assert reason("fused optimizer", fused) == "its optimizers are so already"


def test_names_are_unique() -> None:
    remedies: tuple[Remedy, ...] = list_remedies(record())
    assert len({remedy.name for remedy in remedies}) == len(remedies)
