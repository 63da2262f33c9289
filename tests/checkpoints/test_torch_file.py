import io
import struct
import zipfile
from collections import OrderedDict
from pathlib import Path

import pytest
import torch

from gantune.checkpoints.inert import InertObject
from gantune.checkpoints.torch_file import read_torch_file
from gantune.errors import CheckpointError

GOLDEN = Path(__file__).parents[1] / "golden"
CONTENT = {
    "f32": torch.arange(6, dtype=torch.float32).reshape(2, 3),
    "f64": torch.tensor([0.1, -2.5], dtype=torch.float64),
    "f16": torch.tensor([0.5, 1.5], dtype=torch.float16),
    "bf16": torch.tensor([0.5, 1.5], dtype=torch.bfloat16),
    "i64": torch.tensor([2**40, -1]),
    "u8": torch.tensor([0, 255], dtype=torch.uint8),
    "bool": torch.tensor([True, False]),
    "scalar": torch.tensor(3.0),
    "empty": torch.zeros(0, 4),
    "strided": torch.arange(12, dtype=torch.float32).reshape(3, 4).t()[1:, ::2],
}


def save(content: object, path: Path, *, legacy: bool = False) -> Path:
    torch.save(content, path, _use_new_zipfile_serialization=not legacy)
    return path


def rezip(source: Path, target: Path, *, compression: int = zipfile.ZIP_STORED, drop: str = "") -> Path:
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w", compression) as new:
        for entry in old.infolist():
            if not (drop and entry.filename.endswith(drop)):
                new.writestr(entry.filename, old.read(entry))
    return target


@pytest.mark.parametrize("legacy", [False, True])
def test_every_kind_of_tensor_comes_back(tmp_path: Path, legacy: bool) -> None:
    read = read_torch_file(save(CONTENT, tmp_path / "a.pt", legacy=legacy))
    assert isinstance(read, dict)
    for name, tensor in CONTENT.items():
        assert read[name].dtype == tensor.dtype
        assert torch.equal(read[name], tensor), name


@pytest.mark.parametrize("legacy", [False, True])
def test_tensors_that_share_numbers_still_share_them(tmp_path: Path, legacy: bool) -> None:
    whole = torch.zeros(4)
    read = read_torch_file(save({"whole": whole, "part": whole[:2]}, tmp_path / "a.pt", legacy=legacy))
    assert isinstance(read, dict)
    read["whole"][0] = 7
    assert read["part"][0] == 7


@pytest.mark.parametrize("legacy", [False, True])
def test_a_state_dict_and_an_optimizer_are_plain_dictionaries(tmp_path: Path, legacy: bool) -> None:
    layer = torch.nn.Linear(2, 2)
    optimizer = torch.optim.Adam(layer.parameters())
    layer(torch.ones(1, 2)).sum().backward()
    optimizer.step()
    saved = {"model": layer.state_dict(), "optimizer": optimizer.state_dict()}
    read = read_torch_file(save(saved, tmp_path / "a.pt", legacy=legacy))
    assert isinstance(read, dict)
    assert torch.equal(read["model"]["weight"], layer.weight)
    assert list(read["optimizer"]["state"]) == [0, 1]


def test_a_whole_module_is_read_as_data_under_its_class_name(tmp_path: Path) -> None:
    read = read_torch_file(save(torch.nn.Linear(2, 2), tmp_path / "a.pt"))
    assert isinstance(read, InertObject)
    assert read.name == "torch.nn.modules.linear.Linear"


def test_a_file_of_the_other_byte_order_gives_the_same_numbers(tmp_path: Path) -> None:
    source = save({"x": torch.tensor([1.0, 2.0])}, tmp_path / "a.pt")
    target = tmp_path / "big.pt"
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w") as new:
        for entry in old.infolist():
            data = old.read(entry)
            if entry.filename.endswith("byteorder"):
                data = b"big"
            elif entry.filename.endswith("data/0"):
                data = struct.pack(">2f", 1.0, 2.0)
            new.writestr(entry.filename, data)
    read = read_torch_file(target)
    assert isinstance(read, dict)
    assert read["x"].tolist() == [1.0, 2.0]


@pytest.mark.parametrize("legacy", [False, True])
def test_a_truncated_file_is_refused_wherever_it_is_cut(tmp_path: Path, legacy: bool) -> None:
    data = save(CONTENT, tmp_path / "a.pt", legacy=legacy).read_bytes()
    for cut in [*range(1, 40, 7), *range(40, len(data), 97), len(data) - 1]:
        path = tmp_path / "cut.pt"
        path.write_bytes(data[:cut])
        with pytest.raises(CheckpointError):
            read_torch_file(path)


def test_a_compressed_zip_is_refused(tmp_path: Path) -> None:
    bomb = save({"x": torch.zeros(1_000_000)}, tmp_path / "a.pt")
    packed = rezip(bomb, tmp_path / "bomb.pt", compression=zipfile.ZIP_DEFLATED)
    assert packed.stat().st_size < 100_000
    with pytest.raises(CheckpointError, match="compressed"):
        read_torch_file(packed)


@pytest.mark.parametrize("drop", ["data.pkl", "data/0"])
def test_a_zip_that_lacks_an_entry_is_refused(tmp_path: Path, drop: str) -> None:
    source = save({"x": torch.zeros(3)}, tmp_path / "a.pt")
    with pytest.raises(CheckpointError, match=drop.split("/")[0]):
        read_torch_file(rezip(source, tmp_path / "b.pt", drop=drop))


def test_a_zip_whose_sizes_lie_is_refused(tmp_path: Path) -> None:
    data = bytearray(save({"x": torch.zeros(64)}, tmp_path / "a.pt").read_bytes())
    end = data.rfind(b"PK\x05\x06")
    directory = struct.unpack("<I", data[end + 16 : end + 20])[0]
    position = directory
    while data[position : position + 4] == b"PK\x01\x02":
        name_bytes, extra, comment = struct.unpack("<3H", data[position + 28 : position + 34])
        name = bytes(data[position + 46 : position + 46 + name_bytes])
        if name.endswith(b"data/0"):
            data[position + 20 : position + 28] = struct.pack("<II", 2**31, 2**31)
        position += 46 + name_bytes + extra + comment
    path = tmp_path / "lies.pt"
    path.write_bytes(data)
    with pytest.raises(CheckpointError):
        read_torch_file(path)


def test_a_directory_of_absurd_size_is_refused_before_it_is_read(tmp_path: Path) -> None:
    data = bytearray(save({"x": torch.zeros(3)}, tmp_path / "a.pt").read_bytes())
    end = data.rfind(b"PK\x05\x06")
    data[end + 12 : end + 16] = struct.pack("<I", 2**31)
    path = tmp_path / "directory.pt"
    path.write_bytes(data)
    with pytest.raises(CheckpointError, match="list of entries"):
        read_torch_file(path)


@pytest.mark.parametrize(
    ("size", "stride", "offset"),
    [
        ((10**12,), (0,), 0),
        ((5,), (1,), 0),
        ((2, 2), (4, 1), 0),
        ((2,), (1,), 3),
        ((2,), (-1,), 1),
        ((2,), (1,), -1),
    ],
)
def test_a_tensor_that_leaves_its_storage_is_refused(
    tmp_path: Path, size: tuple[int, ...], stride: tuple[int, ...], offset: int
) -> None:
    class Claim:
        def __init__(self, storage: torch.UntypedStorage) -> None:
            self.storage = torch.storage.TypedStorage(
                wrap_storage=storage, dtype=torch.float32, _internal=True
            )

        def __reduce__(self) -> tuple[object, ...]:
            arguments = (self.storage, offset, size, stride, False, OrderedDict())
            return torch._utils._rebuild_tensor_v2, arguments

    path = save(Claim(torch.zeros(4).untyped_storage()), tmp_path / "a.pt")
    with pytest.raises(CheckpointError, match=r"tensor of shape|shape that is none|do not agree"):
        read_torch_file(path)


def test_a_storage_of_a_claimed_terabyte_is_refused(tmp_path: Path) -> None:
    data = save(torch.zeros(4), tmp_path / "a.pt", legacy=True).read_bytes()
    # The count of numbers in the persistent id, as BININT1, becomes a 4-byte count.
    position = data.index(b"K\x04N", data.index(b"cpu")) if b"K\x04N" in data else data.index(b"K\x04")
    claimed = data[:position] + b"J" + struct.pack("<i", 2**31 - 1) + data[position + 2 :]
    path = tmp_path / "claims.pt"
    path.write_bytes(claimed)
    with pytest.raises(CheckpointError):
        read_torch_file(path)


def test_hostile_names_in_a_torch_file_are_refused(tmp_path: Path) -> None:
    class Attack:
        def __reduce__(self) -> tuple[object, ...]:
            return exec, (f"open({str(tmp_path / 'canary')!r}, 'w')",)

    for legacy in (False, True):
        path = save({"x": Attack()}, tmp_path / "a.pt", legacy=legacy)
        with pytest.raises(CheckpointError, match=r"__?builtins?(__)?\.exec"):
            read_torch_file(path)
    assert not (tmp_path / "canary").exists()


def test_numbers_damaged_in_a_zip_are_noticed(tmp_path: Path) -> None:
    path = save({"x": torch.full((64,), 1.25)}, tmp_path / "a.pt")
    data = path.read_bytes()
    path.write_bytes(data.replace(struct.pack("<f", 1.25), struct.pack("<f", 2.5), 1))
    with pytest.raises(CheckpointError, match="damaged"):
        read_torch_file(path)


def test_an_empty_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "empty.pt").touch()
    with pytest.raises(CheckpointError, match="empty"):
        read_torch_file(tmp_path / "empty.pt")


def test_a_zip_of_something_else_is_refused(tmp_path: Path) -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("pictures/a.txt", "hello")
    path = tmp_path / "a.zip"
    path.write_bytes(buffer.getvalue())
    with pytest.raises(CheckpointError, match=r"data\.pkl"):
        read_torch_file(path)
