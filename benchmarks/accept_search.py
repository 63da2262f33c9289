"""The planner's search beside Optuna on the same recorded latencies: `benchmarks/results/accept-search.json`.

Needs the parts that `make accept-planner` leaves, and a Python with Optuna, named by `--optuna-python`.
Counted are the candidates that are built until one is within 2 % of the best of all.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from accept_planner import WORK, Entry, list_entries, list_parts
from publish import publish

from gantune.records.figures import Figure

SCRIPT = Path(__file__).with_name("optuna_replay.py")
CLOSE = 1.02


def main() -> int:
    """Publish how many candidates each search builds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--optuna-python", type=Path, required=True)
    arguments = parser.parse_args()
    tables = {entry.name: read_table(entry) for entry in list_entries()}
    with tempfile.TemporaryDirectory(prefix="gantune-search-") as folder:
        given, out = Path(folder) / "tables.json", Path(folder) / "found.json"
        given.write_text(json.dumps(tables))
        subprocess.run([str(arguments.optuna_python), str(SCRIPT), str(given), str(out)], check=True)
        found: dict[str, dict[str, list[int]]] = json.loads(out.read_text())
    rows = []
    for entry in list_entries():
        table = tables[entry.name]
        pick, built = read_run(entry)
        reached = table.get(pick, float("inf")) <= CLOSE * min(table.values())
        rows.append(
            Figure(
                name=f"{entry.name}: candidates built by gantune's search", value=float(built), unit="",
                how=f"its pick {pick} is {'' if reached else 'not '}within 2 % of the best of {len(table)}",
            )
        )  # fmt: skip
        for label, counts in found[entry.name].items():
            deciles = statistics.quantiles(counts, n=10)
            rows.append(
                Figure(
                    name=f"{entry.name}: candidates built by Optuna ({label})",
                    value=statistics.median(counts),
                    unit="",
                    low=deciles[0],
                    high=deciles[-1],
                    how=f"until within 2 % of the best, {len(counts)} seeds; it cannot know when to stop",
                )
            )
    return publish("accept-search", rows)


def read_table(entry: Entry) -> dict[str, float]:
    """Read the exhaustive search's latencies, in units of the tuned original's."""
    table: dict[str, float] = {}
    for name, _ in list_parts(entry):
        if name.startswith("exhaustive"):
            part = json.loads((WORK / f"{entry.name}-{name}.json").read_text())
            table |= part["latencies_ms"]
    return table


def read_run(entry: Entry) -> tuple[str, int]:
    """Read the planner's pick, and how many candidates it built or moved to another environment."""
    report = json.loads((WORK / f"{entry.name}-run" / "report.json").read_text())
    return report["best"]["name"], len(report["candidates"])


if __name__ == "__main__":
    sys.exit(main())
