"""A saved program is data: nothing of a hostile one runs, and it is refused in one sentence."""

import json
import os
import pickle
import zipfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from gantune.errors import CheckpointError
from gantune.runtime.engines.program_file import open_program, save_program

Json = Any
Members = dict[str, bytes]
MODEL = "models/model.json"
SAMPLES = "data/sample_inputs/model.pt"
WEIGHTS = "data/weights/model_weights_config.json"
CONSTANTS = "data/constants/model_constants_config.json"


class Scaled(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("scale", torch.full((4,), 3.0))

    def forward(self, z: Tensor) -> Tensor:
        return (z * self.scale).reshape(z.shape[0], 2, 2)


class Touch:
    """Make a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, ...]:
        return os.mkdir, (str(self.path),)


@pytest.fixture
def honest(tmp_path: Path) -> Path:
    program = torch.export.export(
        Scaled(), (torch.zeros(2, 4),), dynamic_shapes=({0: torch.export.Dim("N", min=1)},)
    )
    save_program(program, tmp_path / "honest.pt2")
    return tmp_path / "honest.pt2"


def read_members(path: Path) -> Members:
    reader = torch._C.PyTorchFileReader(str(path))
    return {name: reader.get_record(name) for name in reader.get_all_records()}


def write_members(members: Mapping[str, bytes], path: Path) -> Path:
    writer = torch._C.PyTorchFileWriter(str(path))
    for name, data in members.items():
        if not name.startswith(".data/"):
            writer.write_record(name, data, len(data))
    writer.write_end_of_file()
    return path


def change_document(members: Members, change: Callable[[Json], None], name: str = MODEL) -> None:
    document = json.loads(members[name])
    change(document)
    members[name] = json.dumps(document).encode()


def torch_pickle(value: object, folder: Path) -> bytes:
    torch.save(value, folder / "value.pt")
    return (folder / "value.pt").read_bytes()


def plant_sample_inputs(members: Members, canary: Path) -> None:
    members[SAMPLES] = torch_pickle(((Touch(canary),), {}), canary.parent)


def plant_pickled_weight(members: Members, canary: Path) -> None:
    members["data/weights/weight_0"] = torch_pickle(Touch(canary), canary.parent)
    change_document(members, lambda found: found["config"]["scale"].update(use_pickle=True), WEIGHTS)


def plant_old_weights(members: Members, canary: Path) -> None:
    members["data/weights/model.pt"] = torch_pickle({"scale": Touch(canary)}, canary.parent)


def plant_object(members: Members, canary: Path) -> None:
    members["data/constants/opaque_obj_0"] = pickle.dumps(Touch(canary))
    entry = {"path_name": "opaque_obj_0", "is_param": False, "use_pickle": True, "tensor_meta": None}
    change_document(members, lambda found: found["config"].update(planted=entry), CONSTANTS)


def plant_function(members: Members, canary: Path) -> None:
    def call(document: Json) -> None:
        node = document["graph_module"]["graph"]["nodes"][0]
        node["target"] = "torch.os.mkdir"
        node["inputs"] = [{"name": "", "arg": {"as_string": canary.name}, "kind": 1}]

    change_document(members, call)


def plant_expression(members: Members, canary: Path) -> None:
    text = members[MODEL].decode()
    symbol = text[text.index("Symbol('") :].partition(")")[0] + ")"
    members[MODEL] = text.replace(symbol, f"__import__('os').mkdir({canary.name!r}) or {symbol}").encode()


def plant_import(members: Members, canary: Path) -> None:
    (canary.parent / "hostile_module.py").write_text(f"import os, enum\nos.mkdir({str(canary)!r})\n")

    def name_it(document: Json) -> None:
        call = document["graph_module"]["module_call_graph"][0]["signature"]
        tree = json.loads(call["in_spec"])
        context = {"__enum__": True, "fqn": "hostile_module:E", "name": "A"}
        tree[1]["context"] = json.dumps(context)
        call["in_spec"] = json.dumps(tree)

    change_document(members, name_it)


def plant_file_reader(members: Members, canary: Path) -> None:
    def call(document: Json) -> None:
        node = document["graph_module"]["graph"]["nodes"][0]
        node["target"] = "torch.ops.aten.from_file.default"
        text, size = {"as_string": canary.name}, {"as_int": 4}
        node["inputs"] = [
            {"name": "filename", "arg": text, "kind": 1},
            {"name": "shared", "arg": {"as_bool": True}, "kind": 1},
            {"name": "size", "arg": size, "kind": 1},
        ]

    change_document(members, call)


def plant_file_name_as_a_number(members: Members, canary: Path) -> None:
    plant_file_reader(members, canary)
    text = members[MODEL].decode()
    members[MODEL] = text.replace('{"as_string": ', '{"as_int": ').encode()


def plant_argument_name(members: Members, canary: Path) -> None:
    def name_it(document: Json) -> None:
        given = document["graph_module"]["graph"]["nodes"][0]["inputs"][0]
        given |= {"name": f"a=__import__('os').mkdir({str(canary)!r}), b", "kind": 2}

    change_document(members, name_it)


# What plain torch.export.load runs; it stops `plant_function` itself.
LIVE = (plant_sample_inputs, plant_pickled_weight, plant_old_weights, plant_object, plant_file_reader)
# The same, and nothing that gantune's reader looks at.
PASSED_OVER = (plant_expression, plant_import)


@pytest.fixture
def hostile(
    request: pytest.FixtureRequest, honest: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> tuple[Path, Path]:
    """Give a hostile program and what it makes where it runs."""
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    monkeypatch.syspath_prepend(str(tmp_path / "work"))
    canary, members = tmp_path / "work" / "canary", read_members(honest)
    request.param(members, canary)
    return write_members(members, tmp_path / "hostile.pt2"), canary


@pytest.mark.parametrize(
    "hostile", [*LIVE, plant_function, plant_argument_name], indirect=True, ids=lambda plant: plant.__name__
)
def test_a_hostile_program_is_refused_and_nothing_runs(hostile: tuple[Path, Path]) -> None:
    path, canary = hostile
    with pytest.raises(CheckpointError, match="nothing was run") as caught:
        open_program(path)
    assert "\n" not in str(caught.value)
    assert not canary.exists()


@pytest.mark.parametrize("hostile", PASSED_OVER, indirect=True, ids=lambda plant: plant.__name__)
def test_what_is_never_read_never_runs(hostile: tuple[Path, Path]) -> None:
    path, canary = hostile
    z = torch.randn(3, 4)
    assert torch.equal(open_program(path)(z), (3 * z).reshape(3, 2, 2))
    assert not canary.exists()


@pytest.mark.parametrize("hostile", [*LIVE, *PASSED_OVER], indirect=True, ids=lambda plant: plant.__name__)
def test_torch_itself_would_run_it(hostile: tuple[Path, Path]) -> None:
    path, canary = hostile
    with suppress(Exception):
        torch.export.load(path).module()(torch.zeros(2, 4))
    assert canary.exists()


def test_guards_of_a_program_never_run(honest: Path, tmp_path: Path) -> None:
    members, canary = read_members(honest), tmp_path / "canary"
    guard = f"__import__('os').mkdir({str(canary)!r}) or True"
    change_document(members, lambda found: found.update(guards_code=[guard]))
    open_program(write_members(members, tmp_path / "guarded.pt2"))(torch.zeros(2, 4))
    assert not canary.exists()


def test_a_program_of_an_older_format_is_refused(honest: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(honest, "a") as members:
        members.writestr("version", "8.20")
        members.writestr("serialized_state_dict.pt", pickle.dumps(Touch(tmp_path / "canary")))
    with pytest.raises(CheckpointError, match=r"it holds 'version'.* nothing was run"):
        open_program(honest)
    assert not (tmp_path / "canary").exists()


def test_an_honest_program_holds_no_pickle_and_runs(honest: Path) -> None:
    assert read_members(honest)[SAMPLES] == b""
    z = torch.randn(3, 4)
    assert torch.equal(open_program(honest)(z), (3 * z).reshape(3, 2, 2))


def test_a_text_where_a_number_belongs_names_no_file(honest: Path, tmp_path: Path) -> None:
    canary = tmp_path / "canary"
    members = read_members(honest)
    plant_file_name_as_a_number(members, canary)
    with pytest.raises(CheckpointError, match="where int belongs"):
        open_program(write_members(members, tmp_path / "hostile.pt2"))(torch.zeros(2, 4))
    assert not canary.exists()


def test_another_version_of_the_format_is_refused(honest: Path, tmp_path: Path) -> None:
    members = read_members(honest)
    change_document(members, lambda found: found["schema_version"].update(major=9))
    with pytest.raises(CheckpointError, match="version 9 of its format, not 8"):
        open_program(write_members(members, tmp_path / "newer.pt2"))


def test_a_changed_weight_is_noticed(honest: Path) -> None:
    data = bytearray(honest.read_bytes())
    place = data.index(torch.full((4,), 3.0).numpy().tobytes())
    data[place] ^= 1
    honest.write_bytes(data)
    with pytest.raises(CheckpointError, match="Bad CRC-32"):
        open_program(honest)


@pytest.mark.parametrize("length", [0, 100, 3000])
def test_a_truncated_program_is_refused_in_one_line(honest: Path, length: int) -> None:
    honest.write_bytes(honest.read_bytes()[:length])
    with pytest.raises(CheckpointError, match=r"honest\.pt2 cannot be read as a program") as caught:
        open_program(honest)
    assert "\n" not in str(caught.value)
