"""`gantune doctor`: what this machine has, or what is wrong with a file or a run."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from gantune.cli.console import print_json, print_rows
from gantune.cli.options import JsonOption, check_names


def doctor(
    subject: Annotated[
        Path | None,
        typer.Argument(
            metavar="[FILE|RUN]",
            callback=check_names,
            help="A checkpoint, an artifact, or a run's folder, to find out what is wrong.",
        ),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Describe the machine, the engines and the operations; or say why FILE or RUN disappoints."""
    if subject is not None:
        _diagnose(subject, json=json)
        return
    from gantune.backends import BACKENDS
    from gantune.machine import describe_machine, machine_text
    from gantune.ops.catalogue import form_statuses

    machine = describe_machine()
    engines = {backend.name: backend.missing() for backend in BACKENDS}
    forms = form_statuses()
    if json:
        print_json(
            {
                "machine": machine.model_dump(mode="json"),
                "engines": engines,
                "ops": [asdict(form) for form in forms],
            }
        )
        return
    print(machine_text(machine))
    print()
    print_rows(("engine", "state"), [(name, reason or "available") for name, reason in engines.items()])
    print()
    print_rows(
        ("operation", "form", "state", "differentiable twice"),
        [
            (form.operation, form.form, form.missing or "available", form.is_twice_differentiable)
            for form in forms
        ],
    )


def _diagnose(subject: Path, *, json: bool) -> None:
    from gantune.optimizing.troubleshooting import diagnose
    from gantune.reporting.diagnosis_text import diagnosis_text

    found = diagnose(subject)
    print_json(found.model_dump(mode="json")) if json else print(diagnosis_text(found))
