"""`gantune doctor`: what this machine has, and what gantune will use of it."""

from dataclasses import asdict

from gantune.cli.console import print_json, print_rows
from gantune.cli.options import JsonOption


def doctor(json: JsonOption = False) -> None:
    """Describe the machine, the engines and the form of each operation that will run, with reasons."""
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
