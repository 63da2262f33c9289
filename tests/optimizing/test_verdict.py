import pytest

from gantune.optimizing import verdict
from gantune.optimizing.verdict import decide_int8
from gantune.records.candidate import Interval
from gantune.records.measurement import Comparison


def compared(int8_over_float: float) -> Comparison:
    def ratio(median: float) -> Interval:
        return Interval(median=median, low=median - 0.02, high=median + 0.02)

    return Comparison(
        results=(),
        speedups={
            "int8": {"tuned": ratio(3 * int8_over_float), "bf16": ratio(int8_over_float)},
            "int8 slow": {"tuned": ratio(0.5), "bf16": ratio(0.2)},
            "bf16": {"tuned": ratio(3.0), "bf16": ratio(1.0)},
            "fp32": {"tuned": ratio(1.5), "bf16": ratio(0.5)},
        },
        num_rounds=15,
        is_complete=True,
    )


def decide(ratio: float, share: float = 1.0, **names: list[str]) -> verdict.Verdict:
    usual = {"integers": ["int8 slow", "int8"], "floats": ["fp32", "bf16"]}
    return decide_int8(compared(ratio), **(usual | names), shares={"int8": share})  # type: ignore[arg-type]


@pytest.mark.parametrize(("ratio", "kept"), [(1.05, "int8"), (1.049, "bf16"), (0.8, "bf16")])
def test_integers_must_beat_the_best_float_candidate_by_a_twentieth(ratio: float, kept: str) -> None:
    found = decide(ratio)
    assert (found.kept, found.best_float) == (kept, "bf16")
    assert found.is_int8_kept == (kept == "int8")
    assert f"{ratio:.2f}×" in found.sentence


def test_a_verdict_against_integers_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "only 40% of the dense MACs run as integers" in decide(0.9, share=0.4).sentence
    with_sets = type("Machine", (), {"instruction_sets": ("avx512_vnni",)})
    monkeypatch.setattr(verdict, "describe_machine", with_sets)
    assert "rounding between layers costs what they gain" in decide(0.9).sentence
    with_sets.instruction_sets = ("avx2",)
    assert "no integer dot product (VNNI)" in decide(0.9).sentence


def test_where_one_side_is_outside_the_gate_the_other_is_kept() -> None:
    assert decide(2.0, integers=[]).kept == "bf16"
    assert "no integer candidate is inside the gate" in decide(2.0, integers=[]).sentence
    assert decide(0.5, floats=[]).kept == "int8"
