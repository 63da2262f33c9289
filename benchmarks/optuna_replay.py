"""Replay recorded latencies to Optuna, in a Python that has it: `optuna_replay.py TABLES.json OUT.json`.

TABLES.json maps each network to {candidate: latency}; a candidate is a base with changes, joined by "+".
OUT.json maps it to the trials that each sampler needed, one number for each seed, until it was within 2 % of
the best.
"""

import argparse
import json
from pathlib import Path

import optuna

SEEDS = range(50)
CLOSE = 1.02
# A combination that does not exist costs nothing: Optuna is told so and draws again.
MOST_DRAWS = 400


def count_trials(table: dict[str, float], sampler: optuna.samplers.BaseSampler) -> int:
    """Count the recorded candidates that a sampler looks at until one is within 2 % of the best."""
    bases = sorted({name.split("+")[0] for name in table})
    changes = sorted({change for name in table for change in name.split("+")[1:]})
    latencies = {_name(other.split("+")[0], other.split("+")[1:]): value for other, value in table.items()}
    goal = CLOSE * min(table.values())
    study = optuna.create_study(sampler=sampler)
    seen: set[str] = set()
    for _ in range(MOST_DRAWS):
        trial = study.ask()
        base = trial.suggest_categorical("base", bases)
        taken = [change for change in changes if trial.suggest_categorical(change, [False, True])]
        name = _name(base, taken)
        if name not in latencies:
            study.tell(trial, state=optuna.trial.TrialState.PRUNED)
            continue
        seen.add(name)
        study.tell(trial, latencies[name])
        if latencies[name] <= goal:
            return len(seen)
    return len(table)


def _name(base: str, changes: list[str]) -> str:
    return "+".join([base, *sorted(changes)])


def main() -> None:
    """Replay every table to the tree-structured Parzen estimator and to random search."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tables", type=Path)
    parser.add_argument("out", type=Path)
    arguments = parser.parse_args()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    tables: dict[str, dict[str, float]] = json.loads(arguments.tables.read_text())
    samplers = {"TPE": optuna.samplers.TPESampler, "random": optuna.samplers.RandomSampler}
    found = {
        network: {
            label: [count_trials(table, make(seed=seed)) for seed in SEEDS]
            for label, make in samplers.items()
        }
        for network, table in tables.items()
    }
    arguments.out.write_text(json.dumps(found))


if __name__ == "__main__":
    main()
