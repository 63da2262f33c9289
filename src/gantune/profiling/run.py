"""Profile something, and leave the results in a folder."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from gantune.errors import ScriptError, StorageError
from gantune.profiling.chrome import write_chrome_trace
from gantune.profiling.lanes import lay_out
from gantune.profiling.launch.options import WatchOptions
from gantune.profiling.scalars import write_scalars
from gantune.profiling.scene import Scene, see
from gantune.profiling.summary import summarize
from gantune.profiling.trace import read_trace
from gantune.records.profile import Profile
from gantune.reporting.profile_page import write_profile_page

if TYPE_CHECKING:
    from gantune.profiling.network_profile import NetworkProfileOptions


def profile_trace(path: Path, *, command: str, out: Path | None = None, overwrite: bool = False) -> Profile:
    """Read a trace, diagnose it, and write the results to `out` where it is given.

    Raises `CheckpointError` for a file that is no trace, and `StorageError` where `out` holds one already.
    """
    if out is not None:
        check_folder(out, overwrite=overwrite)
    scene = see(read_trace(path))
    found = summarize(scene, source=path.name, command=command)
    if out is not None:
        write_results(found, scene, out)
    return found


def profile_checkpoint(
    path: Path,
    options: "NetworkProfileOptions",
    *,
    command: str,
    out: Path | None = None,
    overwrite: bool = False,
) -> Profile:
    """Profile the generator of a checkpoint, and write the results to `out` where it is given."""
    if out is not None:
        check_folder(out, overwrite=overwrite)
    from gantune.profiling.network_profile import profile_network

    found, scene = profile_network(path, options, command=command)
    if out is not None:
        write_results(found, scene, out)
    return found


def profile_command(
    script: Sequence[str],
    options: WatchOptions,
    *,
    command: str,
    on_profile: Callable[[Profile], None],
    out: Path | None = None,
    overwrite: bool = False,
) -> tuple[Profile, ...]:
    """Profile a training script without changing it, and write the results to `out` where it is given.

    `on_profile` gets the first process's profile once, as soon as it is there. Further ranks are written to
    `out/rank-N`. Raises `ScriptError` where the script took no steps, and where it failed after its profile.
    """
    if out is not None:
        check_folder(out, overwrite=overwrite)
    from gantune.profiling.script_profile import profile_script

    def tell(found: Profile, scene: Scene) -> None:
        if out is not None:
            write_results(found, scene, out)
        on_profile(found)

    result = profile_script(script, options, command_line=command, on_profile=tell)
    for place, (found, scene) in enumerate(result.profiles[1:], start=1):
        if out is not None:
            write_results(found, scene, out / f"rank-{found.rank if found.rank is not None else place}")
    if result.exit_code != 0:
        raise ScriptError(
            f"{script[0]} {' '.join(script[1:2])} was profiled and then failed with exit status "
            f"{result.exit_code}; its last words stand above."
        )
    return tuple(found for found, _ in result.profiles)


def check_folder(out: Path, *, overwrite: bool) -> None:
    """Raise `StorageError` where the folder holds a profile that may not be replaced."""
    if (out / "profile.json").exists() and not overwrite:
        raise StorageError(f"{out} already holds a profile. Name another --out folder, or add --overwrite.")


def write_results(found: Profile, scene: Scene, out: Path) -> None:
    """Write everything that is shown of a profile into the folder."""
    out.mkdir(parents=True, exist_ok=True)
    found.to_json(out / "profile.json")
    write_chrome_trace(scene, out / "trace.json.gz")
    write_scalars(found, out / "tensorboard")
    write_profile_page(found, lay_out(scene), out / "profile.html")
