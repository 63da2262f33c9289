"""The documents name rooms, commands and Python names that exist."""

import importlib
import importlib.metadata
import re
from pathlib import Path

import typer

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()


def test_the_map_lists_the_rooms_in_the_order_that_is_enforced() -> None:
    architecture = importlib.import_module("test_architecture")
    listed = re.findall(r"^\| `(\w+)` \|", (ROOT / "docs" / "architecture.md").read_text(), re.MULTILINE)
    assert tuple(listed) == architecture.ROOMS


def test_the_readme_lists_exactly_the_commands_there_are() -> None:
    app = importlib.import_module("gantune.cli.app")
    listed = re.findall(r"^\| `gantune (\w+)", README, re.MULTILINE)
    assert sorted(listed) == sorted(command.__name__ for command in app.COMMANDS)


def test_the_readme_shows_each_command_with_what_it_requires() -> None:
    commands = typer.main.get_command(importlib.import_module("gantune.cli.app").build_app()).commands
    for usage, name in re.findall(r"^\| `(gantune (\w+)[^`]*)`", README, re.MULTILINE):
        words = usage.split()[2:]
        plain = [word for at, word in enumerate(words) if word[0] not in "-[" and words[at - 1][0] != "-"]
        parameters = commands[name].params
        arguments = [each for each in parameters if each.param_type_name == "argument"]
        assert sum(each.required for each in arguments) <= len(plain) <= len(arguments), usage
        options = [each for each in parameters if each.required and each not in arguments]
        assert all(set(each.opts) & set(words) for each in options), usage


def test_options_in_the_readme_exist() -> None:
    commands = typer.main.get_command(importlib.import_module("gantune.cli.app").build_app()).commands
    for line in re.findall(r"^.*`(?:\$ )?gantune \w+.*$", README, re.MULTILINE):
        name = re.findall(r"gantune (\w+)", line)[0]
        known = {opt for parameter in commands[name].params for opt in parameter.opts}
        assert set(re.findall(r"--[a-z][a-z-]*", line)) <= known, line


def test_python_names_in_the_readme_exist() -> None:
    gantune = importlib.import_module("gantune")
    named = re.findall(r"\bgantune\.(\w+)(?:\.(\w+))?\(", README)
    assert named
    for name, inner in named:
        value = getattr(gantune, name)
        assert not inner or hasattr(value, inner)


def test_links_between_documents_lead_somewhere() -> None:
    for document in [ROOT / "README.md", ROOT / "CHANGELOG.md", *(ROOT / "docs").glob("*.md")]:
        for target in re.findall(r"\]\(([^)#]+)\)", document.read_text()):
            assert target.startswith("https://") or (document.parent / target).exists(), (
                document.name,
                target,
            )


def test_every_make_target_in_the_readme_exists() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert {"demo", "test"} <= set(re.findall(r"^\$ make ([a-z-]+)", README, re.MULTILINE)) <= targets


def test_pins_satisfy_what_the_project_asks_for() -> None:
    pinned = {
        line.split("==")[0].lower().replace("_", "-")
        for line in (ROOT / "constraints.txt").read_text().splitlines()
        if "==" in line
    }
    asked = {re.split(r"[^\w-]", need)[0].lower() for need in importlib.metadata.requires("gantune") or ()}
    assert {"torch", "pytest", "openvino"} <= asked <= pinned


def test_every_slow_file_of_the_continuous_check_exists() -> None:
    listed = importlib.import_module("conftest").SLOW_BUT_CHECKED_ALWAYS
    assert not [name for name in listed if not (ROOT / "tests" / name).is_file()]
