"""Print a table of figures, write `benchmarks/results/<target>.json`, and say whether every bar is met."""

import subprocess
from datetime import datetime, timezone
from pathlib import Path

from gantune.machine import describe_machine
from gantune.records.figures import Figure, FigureTable
from gantune.records.machine import Machine

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results"
_PATHS = ("PYTHONPATH", "GANTUNE_CACHE")


def publish(target: str, rows: list[Figure], *, folder: Path = RESULTS) -> int:
    """Write the table to `folder` and return the exit status: 1 when a row misses its bar."""
    table = FigureTable(
        target=target,
        machine=_describe_machine(),
        commit=read_commit(),
        date=datetime.now(timezone.utc).isoformat(timespec="seconds"),
        rows=tuple(rows),
    )
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{target}.json").write_text(table.model_dump_json(indent=1) + "\n")
    print_table(rows)
    missed = [row.name for row in rows if row.met is False]
    for name in missed:
        print(f"MISSED: {name}")
    return 1 if missed else 0


def _describe_machine() -> Machine:
    """Describe the machine without the variables that only say where files lie on it."""
    machine = describe_machine()
    told = {name: value for name, value in machine.environment.items() if name not in _PATHS}
    return machine.model_copy(update={"environment": told})


def read_commit() -> str:
    """Name the commit that was measured, with `-dirty` where the tree had changes besides earlier results."""
    git = ["git", "-C", str(ROOT)]
    describe = [*git, "describe", "--always", "--abbrev=12"]
    commit = subprocess.run(describe, capture_output=True, text=True, check=True).stdout.strip()
    status = [*git, "status", "--porcelain", "--untracked-files=no", "--", ".", ":!benchmarks/results"]
    changed = subprocess.run(status, capture_output=True, text=True, check=True).stdout.strip()
    return f"{commit}-dirty" if changed else commit


def print_table(rows: list[Figure]) -> None:
    """Print the rows in columns, the figure before its interval and bar."""
    width = max(len(row.name) for row in rows)
    for row in rows:
        value = "–" if row.value is None else f"{row.value:,.3g} {row.unit}"
        interval = "" if row.low is None or row.high is None else f"({row.low:.3g}–{row.high:.3g})"
        verdict = {True: "met", False: "MISSED", None: ""}[row.met]
        print(f"{row.name:<{width}}  {value:>14} {interval:<15} {row.bar or '':<12} {verdict}")
