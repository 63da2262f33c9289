"""What is written of a profile: a Chrome trace, scalars, JSON there and back, and the comparison of two."""

import gzip
import json
import struct
from pathlib import Path

import pytest

from gantune.errors import CheckpointError, StorageError
from gantune.profiling.chrome import write_chrome_trace
from gantune.profiling.comparison import compare_profiles, read_profile
from gantune.profiling.run import profile_trace
from gantune.profiling.scalars import crc32c, list_scalars, write_scalars
from gantune.profiling.scene import see
from gantune.profiling.summary import summarize
from gantune.profiling.trace import read_trace
from gantune.records.profile import Profile
from gantune.records.profile_comparison import ProfileComparison
from gantune.reporting.comparison_text import comparison_text
from gantune.reporting.profile_text import profile_text
from trace_writer import Event, event, kernel, launch, steps, write_trace

TRACES = Path(__file__).parents[1] / "traces"
NUMBERS = sorted(path.name[6:8] for path in TRACES.glob("trace_*.json.gz"))


def profile_events(folder: Path, events: list[Event], *, name: str = "t.json") -> Profile:
    return profile_trace(write_trace(folder / name, events), command="")


@pytest.mark.parametrize("number", NUMBERS)
def test_every_written_trace_is_json_and_reads_back_alike(tmp_path: Path, number: str) -> None:
    scene = see(read_trace(TRACES / f"trace_{number}.json.gz"))
    path = tmp_path / "written.json.gz"
    write_chrome_trace(scene, path)
    document = json.loads(gzip.decompress(path.read_bytes()))
    assert document["traceEvents"]
    again = summarize(see(read_trace(path)), source="", command="")
    before = summarize(scene, source="", command="")
    assert again.num_steps == before.num_steps
    assert again.findings[0].kind == before.findings[0].kind


def test_control_characters_and_quotes_in_names_survive(tmp_path: Path) -> None:
    name = 'a"b\\c\x00\x1f\n\u2028\ud83d</script>é'
    scene = see(read_trace(write_trace(tmp_path / "t.json", [event("cpu_op", name, 0, 5)])))
    path = tmp_path / "written.json.gz"
    write_chrome_trace(scene, path)
    events = json.loads(gzip.decompress(path.read_bytes()))["traceEvents"]
    assert name in [one["name"] for one in events]


def test_a_written_trace_stays_below_its_number_of_events(tmp_path: Path) -> None:
    events = [event("cpu_op", f"op{i}", i * 10, 1 + i % 7) for i in range(1000)]
    scene = see(read_trace(write_trace(tmp_path / "t.json", events)))
    path = tmp_path / "written.json.gz"
    write_chrome_trace(scene, path, max_events=100)
    written = json.loads(gzip.decompress(path.read_bytes()))["traceEvents"]
    assert [one["dur"] for one in written if one["ph"] == "X"] == [7.0] * 100


@pytest.mark.parametrize("number", NUMBERS)
def test_a_profile_goes_to_json_and_back(number: str) -> None:
    found = summarize(see(read_trace(TRACES / f"trace_{number}.json.gz")), source=number, command="")
    assert Profile.model_validate_json(found.model_dump_json()) == found
    assert found.findings[0].kind.replace("_", " ") in profile_text(found)


def test_the_checksum_is_that_of_the_standard() -> None:
    # RFC 3720, appendix B.4: 32 bytes of zeros, and the check value of "123456789".
    assert crc32c(bytes(32)) == 0x8A9136AA
    assert crc32c(b"123456789") == 0xE3069283


def test_scalars_have_whole_records(tmp_path: Path) -> None:
    found = profile_trace(TRACES / "trace_01.json.gz", command="")
    data = write_scalars(found, tmp_path).read_bytes()
    num_records, at = 0, 0
    while at < len(data):
        (length,) = struct.unpack("<Q", data[at : at + 8])
        at += 12 + length + 4
        num_records += 1
    assert at == len(data)
    assert num_records == 1 + len(list_scalars(found))
    assert b"brain.Event:2" in data[:60]


def training(*, loader_us: float, extra_us: float = 0) -> list[Event]:
    """Six steps of 1000 µs and a little more each, with a loader and one operator."""
    events: list[Event] = []
    for i in range(6):
        length = 1000 + extra_us + (i % 3)
        at = i * 1200.0
        events += [
            event("user_annotation", f"ProfilerStep#{i}", at, length),
            event("user_annotation", "enumerate(DataLoader)#x.__next__", at, loader_us),
            event("cpu_op", "aten::mul", at + loader_us, length - loader_us),
        ]
    return events


def test_a_comparison_tells_changes_from_noise(tmp_path: Path) -> None:
    before = profile_events(tmp_path, training(loader_us=600), name="a.json")
    after = profile_events(tmp_path, training(loader_us=100), name="b.json")
    found = compare_profiles(before, after)
    phases = {change.name: change for change in found.phases}
    assert phases["data"].before_ms == pytest.approx(0.6)
    assert phases["data"].after_ms == pytest.approx(0.1)
    assert phases["data"].is_significant
    assert not compare_profiles(before, before).total.is_significant
    assert found.findings_gone == ()
    assert "6.00× faster" in comparison_text(found)
    assert ProfileComparison.model_validate_json(found.model_dump_json()) == found


def test_what_is_no_profile_is_refused(tmp_path: Path) -> None:
    (tmp_path / "profile.json").write_text('{"schema_version": 99}')
    for path in (tmp_path, tmp_path / "absent"):
        with pytest.raises(CheckpointError, match="profile"):
            read_profile(path)


def test_a_folder_with_a_profile_is_not_replaced_unasked(tmp_path: Path) -> None:
    path = write_trace(tmp_path / "t.json", [launch(0, link=1), kernel("k", 1, 2, link=1), *steps(1, 9)])
    profile_trace(path, command="", out=tmp_path / "out")
    with pytest.raises(StorageError, match="--overwrite"):
        profile_trace(path, command="", out=tmp_path / "out")
    profile_trace(path, command="", out=tmp_path / "out", overwrite=True)
