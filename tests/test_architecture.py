"""The house rules a machine can check: order of rooms, sizes, names, docstrings, types, forbidden calls."""

import ast
import importlib
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "gantune"
ROOMS = (
    "errors",
    "records",
    "machine",
    "reporting",
    "ops",
    "runtime",
    "networks",
    "checkpoints",
    "measuring",
    "quality",
    "profiling",
    "transforms",
    "exporting",
    "backends",
    "training",
    "optimizing",
    "tuning",
    "cli",
)
FORBIDDEN_NAMES = {"utils", "util", "helpers", "helper", "common", "misc", "base", "core"}
MAX_FILE_LINES = 400
MAX_FUNCTION_LINES = 60
MAX_KERNEL_LINES = 120
MAX_TRACKED_BYTES = 4 * 2**20
# Written in pieces, so that this file passes its own check.
FORBIDDEN_WORDS = (
    "python" + "hosted.org",
    "registry." + "npmjs",
    "trusted" + "-host",
    "index" + "-url",
    "/work" + "/",
    "../" + "shared/",
    "DESIGN" + " §",
    "FIELD-" + "REPORTS",
)
TEXT_SUFFIXES = {
    ".py",
    ".md",
    ".toml",
    ".txt",
    ".cfg",
    ".yaml",
    ".yml",
    ".json",
    ".cpp",
    ".h",
    ".html",
    ".css",
}
CLOCKS = {"perf_counter", "perf_counter_ns", "time", "time_ns", "process_time", "process_time_ns"}

Rule = Callable[[str, ast.Module], Iterator[str]]
Function = ast.FunctionDef | ast.AsyncFunctionDef


def room_of(path: str) -> str:
    """Name the room of a path relative to the package; the package's own `__init__` has none."""
    first = path.split("/")[0].removesuffix(".py")
    return {"__init__": "", "__main__": "cli"}.get(first, first)


def functions(tree: ast.AST) -> Iterator[Function]:
    return (node for node in ast.walk(tree) if isinstance(node, Function))


def public_functions(tree: ast.Module) -> Iterator[Function]:
    """Walk functions and methods with a public name in a public class; nested functions are private."""
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            yield from (item for item in node.body if isinstance(item, Function) and _is_public(item))
        elif isinstance(node, Function) and _is_public(node):
            yield node


def _is_public(function: Function) -> bool:
    return not function.name.startswith("_") and "overload" not in map(ast.unparse, function.decorator_list)


def imported_modules(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Walk every import, lazy ones and `import_module("…")` included."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level:
            yield node.lineno, "relative"
        elif isinstance(node, ast.ImportFrom):
            yield from ((node.lineno, f"{node.module}.{alias.name}") for alias in node.names)
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module"):
            yield from ((node.lineno, str(arg.value)) for arg in node.args if isinstance(arg, ast.Constant))


def rooms_in_order(path: str, tree: ast.Module) -> Iterator[str]:
    own = room_of(path)
    if own == "":
        return
    for line, module in imported_modules(tree):
        parts = module.split(".")
        if module == "relative":
            yield f"{line}: relative import"
        elif parts[0] != "gantune":
            continue
        elif len(parts) < 2 or parts[1] not in ROOMS:
            yield f"{line}: imports {module}, which is not in a room"
        elif ROOMS.index(parts[1]) > ROOMS.index(own):
            yield f"{line}: {own} imports the later room {parts[1]}"


def functions_are_short(path: str, tree: ast.Module) -> Iterator[str]:
    for function in functions(tree):
        is_kernel = any("jit" in ast.unparse(decorator) for decorator in function.decorator_list)
        limit = MAX_KERNEL_LINES if is_kernel else MAX_FUNCTION_LINES
        body = function.body[1:] if ast.get_docstring(function) else function.body
        length = (function.end_lineno or 0) - body[0].lineno + 1 if body else 0
        if length > limit:
            yield f"{function.lineno}: {function.name} has {length} lines, allowed {limit}"


def public_functions_are_documented(path: str, tree: ast.Module) -> Iterator[str]:
    if ast.get_docstring(tree) is None:
        yield "1: the file does not say what it is"
    for function in public_functions(tree):
        if ast.get_docstring(function) is None:
            yield f"{function.lineno}: {function.name} has no docstring"


def public_signatures_are_typed(path: str, tree: ast.Module) -> Iterator[str]:
    for function in public_functions(tree):
        arguments = function.args
        named = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
        typed = [argument for argument in named if argument.arg not in {"self", "cls"}]
        where = f"{function.lineno}: {function.name}"
        # `**kwargs: P.kwargs` passes a typed signature on.
        if arguments.kwarg is not None and not ast.unparse(arguments.kwarg).endswith(": P.kwargs"):
            yield f"{where} takes **{arguments.kwarg.arg}"
        annotations = [argument.annotation for argument in typed] + [function.returns]
        if any(annotation is None for annotation in annotations):
            yield f"{where} has an untyped argument or return value"
        for annotation in filter(None, annotations):
            if "Any" in {node.id for node in ast.walk(annotation) if isinstance(node, ast.Name)}:
                yield f"{where} has Any in its signature"


def errors_are_caught_narrowly(path: str, tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if not isinstance(node, ast.ExceptHandler):
            continue
        caught = "" if node.type is None else ast.unparse(node.type)
        is_broad = caught == "" or any(
            name in caught.strip("()").split(", ") for name in ("Exception", "BaseException")
        )
        reraises = any(isinstance(inner, ast.Raise) for inner in ast.walk(node))
        if is_broad and not reraises:
            yield f"{node.lineno}: except {caught or 'everything'} hides failures"


def clocks_stand_in_measuring(path: str, tree: ast.Module) -> Iterator[str]:
    if room_of(path) == "measuring":
        return
    for line, module in imported_modules(tree):
        if module.split(".")[0] == "timeit" or module in {f"time.{clock}" for clock in CLOCKS}:
            yield f"{line}: imports {module}; the only timers stand in measuring"
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and ast.unparse(node) in {f"time.{clock}" for clock in CLOCKS}:
            yield f"{node.lineno}: reads {ast.unparse(node)}; the only timers stand in measuring"


def environment_stands_in_machine(path: str, tree: ast.Module) -> Iterator[str]:
    if room_of(path) == "machine":
        return
    banned = {"os.environ", "os.getenv", "os.putenv", "os.unsetenv"}
    for line, module in imported_modules(tree):
        if module in banned:
            yield f"{line}: imports {module}; only machine reads the environment"
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and ast.unparse(node) in banned:
            yield f"{node.lineno}: uses {ast.unparse(node)}; only machine reads the environment"


def torch_internals_are_left_alone(path: str, tree: ast.Module) -> Iterator[str]:
    for line, module in imported_modules(tree):
        if module.startswith(("torch.ao", "torch._C")):
            yield f"{line}: imports {module}"
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and ast.unparse(node) in {"torch._C", "torch.ao"}:
            yield f"{node.lineno}: uses {ast.unparse(node)}"


def only_the_command_line_prints(path: str, tree: ast.Module) -> Iterator[str]:
    if room_of(path) == "cli":
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func) in {"print", "sys.stdout.write"}:
            yield f"{node.lineno}: prints"


BREACHES: dict[Rule, tuple[str, str]] = {
    rooms_in_order: ("ops/native.py", "def build() -> None:\n    from gantune.cli import main\n"),
    functions_are_short: ("ops/long.py", "def f() -> None:\n" + "    x = 1\n" * 61),
    public_functions_are_documented: ("ops/f.py", '"""A file."""\ndef f() -> None:\n    return None\n'),
    public_signatures_are_typed: ("ops/f.py", "def f(x: dict[str, Any]) -> None:\n    pass\n"),
    errors_are_caught_narrowly: ("ops/f.py", "try:\n    x = 1\nexcept (ValueError, Exception):\n    pass\n"),
    clocks_stand_in_measuring: ("ops/f.py", "import time\nstart = time.perf_counter()\n"),
    environment_stands_in_machine: ("ops/f.py", "import os\nx = os.environ['A']\n"),
    torch_internals_are_left_alone: ("ops/f.py", "import torch\nx = torch._C._get_tracing_state()\n"),
    only_the_command_line_prints: ("ops/f.py", "def f() -> None:\n    print(1)\n"),
}


def named(rule: Rule) -> str:
    return rule.__name__


def python_files(*folders: str) -> list[Path]:
    return sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))


def tracked_files() -> list[Path]:
    """List what git tracks; a source archive has no history and skips."""
    if not (ROOT / ".git").exists():
        pytest.skip("not a git checkout")
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True)
    return [path for name in listed.stdout.split("\0") if name and (path := ROOT / name).is_file()]


@pytest.mark.parametrize("rule", BREACHES, ids=named)
def test_every_source_file_keeps(rule: Rule) -> None:
    offences = [
        f"src/gantune/{name}:{offence}"
        for path in python_files("src/gantune")
        for name in [path.relative_to(PACKAGE).as_posix()]
        for offence in rule(name, ast.parse(path.read_text()))
    ]
    assert not offences, "\n".join(offences)


@pytest.mark.parametrize("rule", BREACHES, ids=named)
def test_a_breach_is_noticed(rule: Rule) -> None:
    path, source = BREACHES[rule]
    assert list(rule(path, ast.parse(source)))


def test_files_are_short() -> None:
    lengths = {
        path: len(path.read_text().splitlines())
        for path in python_files("src", "tests", "scripts", "benchmarks")
    }
    assert not {str(path): length for path, length in lengths.items() if length > MAX_FILE_LINES}


def test_names_say_what_a_file_is() -> None:
    paths = [path.relative_to(ROOT) for path in python_files("src", "tests", "scripts", "benchmarks")]
    assert not [str(path) for path in paths if FORBIDDEN_NAMES & set(path.with_suffix("").parts)]


def test_every_folder_of_the_package_is_a_room() -> None:
    folders = {path.relative_to(PACKAGE).parts[0].removesuffix(".py") for path in python_files("src/gantune")}
    assert folders - {"__init__", "__main__"} <= set(ROOMS)


def test_tracked_files_are_small() -> None:
    assert not [str(path) for path in tracked_files() if path.stat().st_size >= MAX_TRACKED_BYTES]


def test_text_speaks_of_gantune_alone() -> None:
    texts = [
        path for path in tracked_files() if path.suffix in TEXT_SUFFIXES or path.name in {"Makefile", "run"}
    ]
    offences = [
        f"{path.relative_to(ROOT)}: {word}"
        for path in texts
        for word in FORBIDDEN_WORDS
        if word in path.read_text()
    ]
    assert not offences, "\n".join(offences)


def test_every_public_name_resolves() -> None:
    gantune = importlib.import_module("gantune")
    assert gantune.__all__
    assert not [name for name in gantune.__all__ if getattr(gantune, name, None) is None]
    assert set(gantune.__all__) <= set(dir(gantune))


def test_an_unknown_public_name_is_an_attribute_error() -> None:
    gantune = importlib.import_module("gantune")
    with pytest.raises(AttributeError, match="no attribute 'nothing_of_the_kind'"):
        _ = gantune.nothing_of_the_kind


@pytest.mark.parametrize(
    "statement",
    [
        "import gantune",
        "import gantune.runtime",
        "import runpy; runpy.run_module('gantune', run_name='__main__')",
    ],
    ids=["gantune", "runtime", "command-line-help"],
)
def test_starting_is_light(statement: str) -> None:
    """Heavy libraries cost a second at every start, and `gantune.runtime` ships where torch is absent."""
    if "runpy" in statement and not (PACKAGE / "__main__.py").exists():
        pytest.skip("the command line is not there yet")
    code = (
        "import sys; sys.argv = ['gantune', '--help']\n"
        f"try:\n    {statement}\nexcept SystemExit as end:\n    assert end.code in (0, None), end.code\n"
        "heavy = {'torch', 'onnx', 'onnxruntime', 'matplotlib'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    child = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert child.returncode == 0, child.stderr
