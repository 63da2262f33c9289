"""Lines of the user's code, and phases that function names tell."""

import io
import shutil
import sys

import pytest

from gantune.profiling.launch.stacks import Place, StackReader, name_function_phase


@pytest.mark.parametrize(
    ("name", "phase"),
    [
        ("augment", "augment"),
        ("DiffAugment.forward", "augment"),
        ("AugmentPipe.forward", "augment"),
        ("Trainer.r1_penalty", "R1"),
        ("gradient_penalty", "R1"),
        ("update_ema", "EMA"),
        ("accumulate", "EMA"),
        ("load_batch", "data"),
        ("Faces.__getitem__", "data"),
        ("compute_fid", "metrics"),
        ("path_length_penalty", "path length"),
        ("train_step", None),
        ("schema", None),
        ("Generator.forward", None),
        ("main", None),
    ],
)
def test_a_function_s_name_tells_its_phase(name: str, phase: str | None) -> None:
    assert name_function_phase(name) == phase


class Source(io.BytesIO):
    """Is read by the library, and reads the library's stack in turn."""

    def read(self, size: int | None = -1, /) -> bytes:
        places.append(StackReader().read(sys._getframe(1)))
        return super().read(size)


places: list[Place | None] = []


def load_batch() -> None:
    shutil.copyfileobj(Source(b"pixels"), io.BytesIO())


def test_a_library_s_frames_belong_to_the_line_that_called_it() -> None:
    load_batch()
    assert places[0] is not None
    assert places[0].line.endswith(f"test_stacks.py({load_batch.__code__.co_firstlineno + 1}): load_batch")
    assert places[0].phase == "data"
