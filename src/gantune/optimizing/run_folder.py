"""The folder of a run: it refuses what is in the way, keeps state to resume from, and writes whole files."""

import os
import shutil
from pathlib import Path
from typing import TypeVar

import yaml
from pydantic import BaseModel, ValidationError

from gantune.errors import StorageError, UsageError, first_line
from gantune.machine.whole_files import write_text
from gantune.records.plan import Plan

_STATE = ".state"
_MAX_PLAN_BYTES = 4 * 2**20
Record = TypeVar("Record", bound=BaseModel)


class RunFolder:
    """A run's folder `out`, with unfinished work in `out/.state` until `finish` removes it.

    Opening it raises `StorageError` where a finished run, another unfinished run, or foreign files are in the
    way and `overwrite` is false; the same plan again resumes.
    """

    def __init__(self, out: Path, plan: Plan, *, overwrite: bool) -> None:
        self.path = out
        self._state = out / _STATE
        if out.exists() and not out.is_dir():
            raise StorageError(f"{out} is a file; name a folder with --out.")
        self.is_resumed = self._read_state_plan() == plan
        if not self.is_resumed:
            self._make_room(overwrite=overwrite)
        self._state.mkdir(parents=True, exist_ok=True)
        self.write_state("plan", plan)

    def _read_state_plan(self) -> Plan | None:
        try:
            return self.read_state("plan", Plan)
        except ValidationError:
            return None

    def _make_room(self, *, overwrite: bool) -> None:
        if not self.path.exists() or not any(self.path.iterdir()):
            return
        if overwrite:
            is_ours = (self.path / "report.json").exists() or self._state.exists()
            if not is_ours:
                raise StorageError(
                    f"{self.path} holds files that no gantune run wrote, so --overwrite will not remove "
                    "them. Name an empty or new folder with --out."
                )
            shutil.rmtree(self.path)
            return
        if self._state.exists():
            raise StorageError(
                f"{self.path} holds an unfinished run with other options. Repeat its command to "
                "resume it, name another --out, or add --overwrite to discard it."
            )
        raise StorageError(
            f"{self.path} is not empty. Name another --out, or add --overwrite to replace a run."
        )

    def write_state(self, name: str, record: BaseModel) -> None:
        """Keep an intermediate record under a name."""
        write_text(self._state / f"{name}.json", record.model_dump_json(indent=1))

    def read_state(self, name: str, kind: type[Record]) -> Record | None:
        """Read an intermediate record back; None where it was not written."""
        file = self._state / f"{name}.json"
        return kind.model_validate_json(file.read_text()) if file.is_file() else None

    def scratch(self, name: str) -> Path:
        """Name a place for intermediate files; it may exist from an interrupted run."""
        return self._state / name

    def adopt(self, source: Path, name: str) -> Path:
        """Move a finished folder or file out of the state into the run under `name`."""
        target = self.path / name
        if target.is_dir():
            shutil.rmtree(target)
        os.replace(source, target)
        return target

    def finish(self) -> None:
        """Remove the state; the run is complete."""
        shutil.rmtree(self._state)


def write_plan(path: Path, plan: Plan) -> None:
    """Write a plan as YAML that `read_plan` reads back."""
    write_text(path, yaml.safe_dump(plan.model_dump(mode="json"), sort_keys=False, allow_unicode=True))


def read_plan(path: Path) -> Plan:
    """Read a plan; raise `UsageError`, naming the first wrong entry, where the file is missing or no plan."""
    if not path.is_file():
        raise UsageError(f"There is no plan at {path}. Name a plan.yaml that a run wrote.")
    try:
        if path.stat().st_size > _MAX_PLAN_BYTES:
            raise UsageError(f"{path} is no plan (it is larger than any). Name a plan.yaml that a run wrote.")
        return Plan.model_validate(yaml.safe_load(path.read_text(encoding="utf-8")))
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"])) or "the document"
        reason = f"{place}: {first['msg']}"
    except OSError as error:
        reason = f"it cannot be read: {error.strerror}"
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError) as error:
        reason = first_line(error)
    raise UsageError(f"{path} is no plan ({reason}). Name a plan.yaml that a run wrote.")
