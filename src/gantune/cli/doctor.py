"""`gantune doctor`: what this machine has, and what gantune will use of it."""

from gantune.cli.console import print_facts, print_json, print_rows
from gantune.cli.options import JsonOption


def doctor(json: JsonOption = False) -> None:
    """Describe the machine, the engines and the form of each operation that will run, with reasons."""
    from gantune.backends import BACKENDS
    from gantune.machine import describe_machine, machine_text
    from gantune.ops.choose import describe_forms

    machine = describe_machine()
    engines = {backend.name: backend.why_unavailable() for backend in BACKENDS}
    forms = describe_forms()
    if json:
        print_json({"machine": machine.model_dump(mode="json"), "engines": engines, "ops": forms})
        return
    print(machine_text(machine))
    print()
    print_rows(("engine", "state"), [(name, reason or "available") for name, reason in engines.items()])
    print()
    print_facts(forms)
