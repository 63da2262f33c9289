from pathlib import Path

import pytest

from gantune.ops import choose, styled_convolution
from gantune.optimizing.build import build_candidate
from gantune.records.plan import PlannedCandidate
from transform_samples import prepare

PLANNED = PlannedCandidate(name="torch-fp32", engine="torch", precision="fp32", steps=(), why="a test")


@pytest.mark.parametrize("reason", ["the kernels were not built", None])
def test_an_artifact_without_the_kernels_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reason: str | None
) -> None:
    monkeypatch.setattr(choose, "_fallbacks", {})
    monkeypatch.setattr(styled_convolution, "missing", lambda: reason)
    result = build_candidate(prepare("srvgg"), PLANNED, tmp_path / "artifact", threads=1)
    assert result.status == "built"
    assert [found.reason for found in result.fallbacks] == ([] if reason is None else [reason])
