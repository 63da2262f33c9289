"""The folder of a training run: `00000-name`, numbered after those already there, and what lies in it."""

import fcntl
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gantune.errors import UsageError
from gantune.machine.whole_files import PARTIAL_SUFFIX

STATE_FILE = "training-state.safetensors"
OPTIONS_FILE = "training_options.json"
CHANGES_FILE = "recipe_changes.jsonl"
_NUMBER = re.compile(r"^(\d{5})-")


def create_run_folder(outdir: Path, name: str) -> Path:
    """Create the next folder, `outdir/NNNNN-name`, and return it."""
    outdir.mkdir(parents=True, exist_ok=True)
    while True:
        number = max(_taken_numbers(outdir), default=-1) + 1
        folder = outdir / f"{number:05d}-{name}"
        try:
            folder.mkdir()
        except FileExistsError:
            continue  # another run took the number first
        if _taken_numbers(outdir).count(number) == 1:
            return folder
        folder.rmdir()  # so did a run of another name


def _taken_numbers(outdir: Path) -> list[int]:
    return [int(found.group(1)) for item in outdir.iterdir() if (found := _NUMBER.match(item.name))]


@contextmanager
def hold_run(run: Path) -> Iterator[None]:
    """Keep other processes out of a run folder until the block or this process ends.

    Raise `UsageError` where another one trains there.
    """
    with (run / OPTIONS_FILE).open("a") as stream:
        try:
            # A record lock: worker processes do not inherit it, so it ends with this process.
            fcntl.lockf(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UsageError(
                f"{run} is being trained by another process; stop that one first, or leave out --resume."
            ) from None
        yield


def find_state(run: Path) -> Path:
    """Return the state file of a run folder; raise `UsageError` where there is nothing to resume."""
    state = run / STATE_FILE
    if not state.is_file():
        raise UsageError(
            f"{run} holds no {STATE_FILE}: the run was stopped before its first save. Start it anew."
        )
    return state


def snapshot_path(run: Path, num_images: int) -> Path:
    """Name the snapshot of the networks after the thousands of images seen."""
    return run / f"network-snapshot-{num_images // 1000:06d}.safetensors"


def remove_leftovers(run: Path) -> None:
    """Delete the half-written files of a process that was killed while it saved."""
    for path in run.glob(f".*{PARTIAL_SUFFIX}"):
        path.unlink(missing_ok=True)
