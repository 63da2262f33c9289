"""The loop "try, measure, keep or undo", with a script whose speed under each remedy is made up."""

from collections.abc import Callable, Iterator
from itertools import cycle

import pytest

from gantune.errors import ScriptError
from gantune.profiling.script_record import ScriptRecord
from gantune.records.tuning import Bottleneck
from gantune.tuning import loop
from gantune.tuning.loop import TuneOptions, tune_script
from gantune.tuning.remedies import Remedy
from gantune.tuning.trial import Trial

FAST = Remedy("fast", ("threads",), ("fast = True",), environment={"FAST": "1"})
LATER = Remedy("later", (), ("later = True",))
NOISY = Remedy("noisy", (), ())
SLOW = Remedy("slow", (), ())
CHEAT = Remedy("cheat", (), ())
BROKEN = Remedy("broken", (), ())
UNFIT = Remedy("unfit", (), (), why_not=lambda _: "it has no loader")


def record(step_ms: float, *, batch: int = 8) -> ScriptRecord:
    step_ns = int(step_ms * 1e6)
    return ScriptRecord.model_validate(
        {
            "stage": "plain",
            "source": "optimizer",
            "num_steps": 11,
            "process_id": 1,
            "thread_id": 1,
            "torch": "2",
            "threads": 1,
            "num_cores": 1,
            "window_end_ns": 0,
            "batch_size": batch,
            "losses": [(step, 1.0) for step in range(11)],
            "stages": {"plain": {"boundaries": [step_ns * i for i in range(9)]}},
        }
    )


class Script:
    """Answers trials: `fast` halves a step, and only then `later` gains as well."""

    def __init__(self) -> None:
        self.noise: Iterator[float] = cycle([0.8, 1.1])
        self.trials: list[tuple[str, ...]] = []

    def run(self, command: object, remedies: list[Remedy], options: object, *, calls: object = ()) -> Trial:
        names = tuple(remedy.name for remedy in remedies)
        self.trials.append(names)
        if "broken" in names:
            return Trial(None, "train.py crashed")
        step_ms = 50.0 if "fast" in names else 100.0
        step_ms *= 0.8 if {"fast", "later"} <= set(names) else 1.0
        step_ms *= 0.3 if "faster" in names else 1.0
        step_ms *= 1.2 if "slow" in names else 1.0
        step_ms *= next(self.noise) if "noisy" in names else 1.0
        step_ms *= 0.1 if "cheat" in names else 1.0
        return Trial(record(step_ms, batch=4 if "cheat" in names else 8))


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> Script:
    made = Script()
    monkeypatch.setattr(loop, "run_trial", made.run)

    def look(state: loop._State, after: str) -> None:
        state.bottlenecks.append(Bottleneck(after=after, kind="threads", share=0.5, text=""))

    monkeypatch.setattr(loop, "_look_for_bottleneck", look)
    return made


def catalogue(*remedies: Remedy) -> Callable[[ScriptRecord], tuple[Remedy, ...]]:
    return lambda _record: remedies


def test_what_gains_is_kept_and_what_gained_nothing_is_tried_again_once_the_bottleneck_moved(
    script: Script,
) -> None:
    fast = Remedy("fast", (), ("fast = True",), environment={"FAST": "1"})
    found = tune_script(["train"], TuneOptions(), catalogue=catalogue(LATER, SLOW, fast))
    assert found.kept == ("fast", "later")
    assert found.gain.median == pytest.approx(2.5)
    assert found.before_steps_s == pytest.approx(10)
    assert found.after_steps_s == pytest.approx(25)
    assert found.permanent_command == "FAST=1 train"
    assert found.lines == ("fast = True", "later = True")
    assert [one.after for one in found.bottlenecks] == ["nothing", "fast", "later"]
    rounds = [(one.round, one.status) for one in found.attempts if one.name == "later"]
    assert rounds == [(1, "rejected"), (2, "kept")]


def test_a_remedy_that_answers_the_bottleneck_is_tried_first(script: Script) -> None:
    tune_script(["train"], TuneOptions(), catalogue=catalogue(SLOW, FAST))
    alone = [names for names in script.trials if names]
    assert alone[0] == ("fast",)


def test_a_clear_answer_to_the_bottleneck_is_kept_before_anything_else_is_tried(script: Script) -> None:
    found = tune_script(["train"], TuneOptions(), catalogue=catalogue(SLOW, LATER, FAST))
    alone = [names for names in script.trials if names]
    assert set(alone[:3]) == {("fast",)}
    assert found.kept == ("fast", "later")
    assert next(one.round for one in found.attempts if one.name == "slow") == 2


def test_of_two_clear_answers_the_second_waits_once(script: Script) -> None:
    told: list[str] = []
    faster = Remedy("faster", ("threads",), ())
    tune_script(["train"], TuneOptions(max_rounds=2), report=told.append, catalogue=catalogue(FAST, faster))
    # Looked at beside the other, and once more when that one is kept.
    assert told.count("trying fast") == 2


def test_the_catalogue_is_asked_again_for_the_faster_script(script: Script) -> None:
    def ask(seen: ScriptRecord) -> tuple[Remedy, ...]:
        return (FAST,) if seen.stage_named("plain").step_ms[0] > 60 else (FAST, LATER, UNFIT)

    found = tune_script(["train"], TuneOptions(), catalogue=ask)
    assert found.kept == ("fast", "later")
    assert [one.name for one in found.attempts if one.status == "not_tried"] == ["unfit"]


@pytest.mark.parametrize(
    ("remedy", "status", "reason"),
    [
        (CHEAT, "rejected", "batches of 4 instead of 8"),
        (NOISY, "rejected", "not faster beyond noise"),
        (SLOW, "rejected", "0.83× in a first look"),
        (BROKEN, "failed", "crashed"),
        (UNFIT, "not_tried", "no loader"),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_what_does_not_hold_is_undone_and_the_reason_is_given(
    script: Script, remedy: Remedy, status: str, reason: str
) -> None:
    found = tune_script(["train"], TuneOptions(), catalogue=catalogue(remedy))
    assert found.kept == ()
    assert found.gain.median == 1
    (attempt,) = found.attempts
    assert attempt.status == status
    assert reason in attempt.reason


def test_remedies_of_one_group_exclude_each_other(script: Script) -> None:
    one = Remedy("fast", (), (), group="threads")
    other = Remedy("later", (), (), group="threads")
    found = tune_script(["train"], TuneOptions(), catalogue=catalogue(other, one))
    assert found.kept == ("fast",)


def test_what_was_kept_is_replaced_by_what_is_better_of_its_group(script: Script) -> None:
    one = Remedy("fast", (), ("one",), group="workers")
    other = Remedy("faster", (), ("other",), group="workers")

    def ask(seen: ScriptRecord) -> tuple[Remedy, ...]:
        return (one,) if seen.stage_named("plain").step_ms[0] > 60 else (one, other)

    found = tune_script(["train"], TuneOptions(), catalogue=ask)
    assert found.kept == ("faster",)
    assert found.lines == ("other",)
    assert not any({"fast", "faster"} <= set(names) for names in script.trials)


def test_it_stops_at_the_goal(script: Script) -> None:
    found = tune_script(["train"], TuneOptions(goal=1.9), catalogue=catalogue(FAST, LATER))
    assert found.kept == ("fast",)
    assert "goal" in found.stopped_because


def test_a_script_that_cannot_be_run_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop, "run_trial", lambda *_args, **_kwargs: Trial(None, "train.py crashed"))
    with pytest.raises(ScriptError, match="crashed"):
        tune_script(["train"], TuneOptions())
