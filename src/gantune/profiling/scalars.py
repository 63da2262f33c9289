"""A profile as TensorBoard scalars: an event file written by hand, since its format is a few fields.

The records are TFRecord (length, masked CRC-32C, data, masked CRC-32C); the data are protocol buffers of
tensorflow/core/util/event.proto and framework/summary.proto.
"""

import struct
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

from gantune.records.profile import Profile

_POLYNOMIAL = 0x82F63B78  # CRC-32C (Castagnoli), reflected
_MASK_DELTA = 0xA282EAD8


def list_scalars(profile: Profile) -> list[tuple[str, int, float]]:
    """List (tag, step, value): step times, and shares of wall time, phases and findings."""
    scalars = [("profile/window_ms", 0, profile.window_ms)]
    scalars += [("profile/step_ms", number, time_ms) for number, time_ms in enumerate(profile.step_ms)]
    if profile.busy_share is not None:
        scalars.append(("profile/device_busy_share", 0, profile.busy_share))
    for part in profile.wall:
        scalars.append((f"wall/{_tag(part.name)}_share", 0, part.share))
    for phase in profile.phases:
        scalars.append((f"phase/{_tag(phase.name)}_ms", 0, phase.host_ms))
    for finding in profile.findings:
        if finding.share is not None:
            scalars.append((f"finding/{finding.kind}_share", 0, finding.share))
    return scalars


def write_scalars(profile: Profile, folder: Path) -> Path:
    """Write the scalars as an event file into `folder` and return its path."""
    folder.mkdir(parents=True, exist_ok=True)
    wall_time = datetime.fromisoformat(profile.created).timestamp()
    path = folder / f"events.out.tfevents.{int(wall_time):010d}.gantune"
    with path.open("wb") as file:
        for event in _events(profile, wall_time):
            header = struct.pack("<Q", len(event))
            file.write(header + _masked_crc(header) + event + _masked_crc(event))
    return path


def _events(profile: Profile, wall_time: float) -> Iterator[bytes]:
    time = b"\x09" + struct.pack("<d", wall_time)  # field 1, double
    yield time + _bytes_field(3, b"brain.Event:2")
    for tag, step, value in list_scalars(profile):
        item = _bytes_field(1, tag.encode()) + b"\x15" + struct.pack("<f", value)  # field 2, float
        yield time + b"\x10" + _varint(step) + _bytes_field(5, _bytes_field(1, item))


def _bytes_field(number: int, data: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(data)) + data


def _varint(value: int) -> bytes:
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)


def crc32c(data: bytes) -> int:
    """Give the CRC-32C of some bytes (RFC 3720, appendix B.4)."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = (crc >> 1) ^ (_POLYNOMIAL if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def _masked_crc(data: bytes) -> bytes:
    crc = crc32c(data)
    return struct.pack("<I", ((crc >> 15 | crc << 17) + _MASK_DELTA) & 0xFFFFFFFF)


def _tag(name: str) -> str:
    return name.replace(": ", "_").replace(" ", "_")
