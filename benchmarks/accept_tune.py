"""The figures `gantune tune` is accepted by: a slow script against its hand-mended form, others' scripts.

`--stranger NAME=COMMAND` tunes a script that was obtained for the test; it is not part of the repository.
"""

import argparse
import os
import shlex
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from profile_planted import name_script
from publish import ROOT, publish, read_commit

from gantune.machine import TUNED_ALLOCATOR
from gantune.measuring.bootstrap import bootstrap_median
from gantune.profiling.script_record import ScriptRecord
from gantune.records.figures import Figure
from gantune.records.tuning import Tuning
from gantune.reporting.tuning_text import tuning_text
from gantune.tuning.loop import TuneOptions, tune_script
from gantune.tuning.remedies import Remedy, list_remedies
from gantune.tuning.trial import TrialOptions, run_trial

sys.path.insert(0, str(ROOT / "tests"))

from planted.harmful import HARMFUL

Catalogue = Callable[[ScriptRecord], tuple[Remedy, ...]]
# A loader that waits, 24 threads on few cores, and buffers mapped anew at every step.
FAULTS = ("loader", "threads", "memory")
STEPS = ("--steps", "1000000")
WORKERS = (2, 4, 8, 12)
NUM_PAIRS = 5
MIN_SHARE = 0.9


def tune_planted(faults: list[str], saved: Path) -> list[Figure]:
    """Tune the slow script among harmful remedies, and time it against what a person made of it."""
    known: dict[str, Remedy] = {}

    def catalogue(record: ScriptRecord) -> tuple[Remedy, ...]:
        known.update({remedy.name: remedy for remedy in (*list_remedies(record), *HARMFUL)})
        return tuple(known.values())

    slow = [*name_script("plain_loop.py"), *STEPS, "--fault", ",".join(faults)]
    found = tune("planted", slow, catalogue, saved)
    if any(name not in known for name in found.kept):
        # The search was read back: how many workers the catalogue proposes depends on the script.
        learn(slow, [], catalogue)
        learn(slow, [known[name] for name in found.kept if name in known], catalogue)
    share = _compare_with_mended(faults, slow, [known[name] for name in found.kept])
    harmful = sorted({remedy.name for remedy in HARMFUL} & set(found.kept))
    return [
        share,
        Figure(
            name="harmful remedies kept",
            value=len(harmful),
            unit=f"of {len(HARMFUL)}",
            bar="0",
            met=not harmful,
            how="; ".join(
                f"{one.name}: {one.reason}" for one in found.attempts if one.name in _names(HARMFUL)
            ),
        ),
        _gain_figure("planted slow script", found),
    ]


def _names(remedies: Sequence[Remedy]) -> set[str]:
    return {remedy.name for remedy in remedies}


def learn(command: list[str], remedies: list[Remedy], catalogue: Catalogue) -> None:
    """Show the catalogue the script as it is with these remedies."""
    record = run_trial(command, remedies, TrialOptions()).record
    assert record is not None
    catalogue(record)


def _compare_with_mended(faults: list[str], slow: list[str], kept: list[Remedy]) -> Figure:
    """Mend the causes by hand, with the best number of workers, and measure pairs."""
    options = TrialOptions(min_window_s=2.0)
    threads = {"OMP_NUM_THREADS": str(os.cpu_count())} if "threads" in faults else {}
    by_hand = Remedy("by hand", (), (), environment={**TUNED_ALLOCATOR, **threads})
    left = ",".join(fault for fault in faults if fault != "threads")
    scripts = {
        number: [*name_script("plain_loop.py"), *STEPS, "--fault", left, "--workers", str(number)]
        for number in WORKERS
    }
    times = {number: run_trial(script, [by_hand], options).step_ms for number, script in scripts.items()}
    best = min(times, key=lambda number: times[number])
    ratios = []
    for number in range(NUM_PAIRS):
        turn = -1 if number % 2 else 1
        pair = [(slow, kept), (scripts[best], [by_hand])][::turn]
        steps = [run_trial(script, remedies, options).step_ms for script, remedies in pair]
        tuned, mended = steps[::turn]
        ratios.append(mended / tuned)
    share = bootstrap_median(ratios)
    return Figure(
        name="steps/s of the tuned script over the hand-mended one's",
        value=share.median,
        unit="×",
        low=share.low,
        high=share.high,
        bar=f"≥ {MIN_SHARE}",
        met=share.median >= MIN_SHARE,
        how=f"{', '.join(faults)}; by hand {best} workers, the allocator tuned, "
        f"{'one thread a core' if threads else 'threads as they are'}; {NUM_PAIRS} pairs in turned order",
    )


def tune_stranger(name: str, command: str, saved: Path) -> list[Figure]:
    """Tune a script of somebody else's."""
    found = tune(name, shlex.split(command), list_remedies, saved)
    return [_gain_figure(name, found)]


def tune(name: str, command: list[str], catalogue: Catalogue, saved: Path) -> Tuning:
    """Tune, say what happens and what came of it; a search of this commit is read back from `saved`."""
    path = saved / f"{name}-{read_commit()}.json"
    if path.exists() and not path.stem.endswith("dirty"):
        return Tuning.model_validate_json(path.read_text())
    found = tune_script(
        command, TuneOptions(), report=lambda text: print(f"  {text}", flush=True), catalogue=catalogue
    )
    print(tuning_text(found))
    saved.mkdir(parents=True, exist_ok=True)
    path.write_text(found.model_dump_json(indent=1) + "\n")
    return found


def _gain_figure(name: str, found: Tuning) -> Figure:
    counts = {status: sum(one.status == status for one in found.attempts) for status in ("kept", "failed")}
    return Figure(
        name=f"{name}: steps/s tuned over untouched",
        value=found.gain.median,
        unit="×",
        low=found.gain.low,
        high=found.gain.high,
        bar="≥ 1, to its end",
        met=found.gain.median >= 1,
        how=f"kept: {', '.join(found.kept) or 'nothing'}; {len(found.attempts)} tried, {counts['failed']} "
        f"failed; stopped because {found.stopped_because}; from {found.before_steps_s:.2f} to "
        f"{found.after_steps_s:.2f} steps/s",
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--stranger", action="append", default=[], metavar="NAME=COMMAND")
    parser.add_argument("--only", help="the name of the one search to make, and nothing else")
    parser.add_argument("--faults", nargs="+", default=FAULTS, help="the faults of the planted slow script")
    parser.add_argument("--saved", type=Path, default=ROOT / ".cache" / "tuning")
    parser.add_argument("--out", type=Path, default=ROOT / "benchmarks" / "results")
    arguments = parser.parse_args()
    # The script's process has to find the harmful remedies.
    known = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join([str(ROOT / "tests"), *([known] if known else [])])
    rows = []
    if arguments.only in (None, "planted"):
        rows += tune_planted(list(arguments.faults), arguments.saved)
    for name, command in (given.split("=", 1) for given in arguments.stranger):
        if arguments.only in (None, name):
            rows += tune_stranger(name, command, arguments.saved)
    return publish("accept-tune", rows, folder=arguments.out)


if __name__ == "__main__":
    sys.exit(main())
