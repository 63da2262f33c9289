"""`make bench-layers`: where the fused artifacts of official size spend their time, by kind and by layer.

Each operation of the program is timed as it runs, one after the other; medians over the rounds are added up.
The whole call is timed beside, so that what timing each operation costs is seen.
"""

import argparse
import sys
import tempfile
from collections import defaultdict
from pathlib import Path
from statistics import median

import torch
from bench import CACHE, THREADS
from official import OFFICIAL, Official, write_official
from publish import publish
from torch import Tensor, fx

import gantune.ops.styled_convolution  # noqa: F401  (registers the operators of the program)
from gantune.backends import BuildOptions, find_backend
from gantune.checkpoints import load
from gantune.measuring.latency import time_call
from gantune.optimizing.build import apply_transforms
from gantune.records.figures import Figure
from gantune.runtime import read_artifact
from gantune.runtime.allocator import tune_allocator
from gantune.runtime.engines.program_file import open_program
from gantune.runtime.engines.torch_program import specialize

ROUNDS = 15
NETWORKS = ("stylegan3-t-256", "stylegan2-1024")
PLANS = ("torch-fused-fp32", "torch-fused-bf16-large")
# What a part of an operation's name says of its kind; the first that fits.
KINDS = (
    ("filtered_lrelu", ("gantune.filtered_lrelu",)),
    ("3×3 convolutions with their ending", ("gantune.styled_convolution",)),
    ("the last blocks, joined", ("gantune.styled_block",)),
    ("resampling of images", ("gantune.upfirdn2d",)),
    ("projections to RGB", ("gantune.project_pixels",)),
    ("other convolutions", ("aten.conv",)),
    ("mapping and styles", ("aten.linear", "aten.mm", "aten.addmm", "aten.matmul")),
    ("layout and precision", ("clone", "contiguous", "aten.to.", "_to_copy", "copy_", "permute")),
)
REST = "rest"


class TimedProgram(fx.Interpreter):
    """Run a program and keep each operation's milliseconds, by name of its node."""

    def __init__(self, module: fx.GraphModule) -> None:
        super().__init__(module)
        self.durations_ms: dict[str, float] = {}

    def run_node(self, n: fx.Node) -> object:
        """Run and time one operation."""
        found: list[object] = []
        self.durations_ms[n.name] = time_call(lambda: found.append(super(TimedProgram, self).run_node(n)))
        return found[0]


def main() -> int:
    """Measure the networks named on the command line, or both, and publish."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("networks", nargs="*", choices=[*NETWORKS, []], help="which networks (default: both)")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--artifacts", type=Path, help="build here what is not there, and keep it")
    arguments = parser.parse_args()
    torch.set_num_threads(THREADS)
    officials = [one for one in OFFICIAL if one.name in (arguments.networks or NETWORKS)]
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.artifacts or Path(temporary)
        # Modules first, timing last: what is built stays in the heap that timing then tunes.
        programs = {
            f"{official.name} {plan}": open_built(official, plan, folder / f"{official.name}-{plan}")
            for official in officials
            for plan in PLANS
        }
    tune_allocator()
    rows: list[Figure] = []
    for name, module in programs.items():
        rows += breakdown(name, module, num_rounds=arguments.rounds)
    return publish("bench-layers", rows)


def open_built(official: Official, plan_name: str, folder: Path) -> fx.GraphModule:
    """Build an artifact in `folder` unless it is there, and load its program as the runtime does."""
    if not folder.exists():
        network = load(write_official(official, CACHE))
        backend = find_backend("torch")
        plan = next(plan for plan in backend.plans(official.family) if plan.name == plan_name)
        backend.build(apply_transforms(network, plan.steps), folder, BuildOptions(precision=plan.precision))
    module = open_program(folder / read_artifact(folder).entry)
    specialize(module)
    return module


@torch.inference_mode()
def breakdown(name: str, module: fx.GraphModule, *, num_rounds: int) -> list[Figure]:
    """Give milliseconds and share of every kind, then of every layer."""
    inputs = torch.randn(1, 512, generator=torch.Generator().manual_seed(0)), torch.tensor(1.0)
    expected: Tensor = module(*inputs)
    whole_ms, rounds = [], []
    for _ in range(num_rounds):
        whole_ms.append(time_call(lambda: module(*inputs)))
        timed = TimedProgram(module)
        found = timed.run(*inputs)
        assert torch.equal(found, expected)
        rounds.append(timed.durations_ms)
    medians = {node: median(one[node] for one in rounds) for node in rounds[0]}
    total = sum(medians.values())
    by_kind: defaultdict[str, float] = defaultdict(float)
    by_layer: defaultdict[str, float] = defaultdict(float)
    for node in module.graph.nodes:
        by_kind[kind_of(node)] += medians[node.name]
        by_layer[layer_of(node)] += medians[node.name]
    how = f"median of {num_rounds} rounds, tuned allocator, {THREADS} threads, batch 1"
    rows = [
        Figure(name=f"{name}: a call", value=median(whole_ms), unit="ms", how=how),
        Figure(name=f"{name}: all operations, each timed", value=total, unit="ms", how=how),
    ]
    for title, parts in (("kind", by_kind), ("layer", by_layer)):
        for part, value in sorted(parts.items(), key=lambda item: -item[1] if title == "kind" else 0):
            share = f"{value / total:.1%} of all operations; {how}"
            rows.append(Figure(name=f"{name}, {title} {part}", value=value, unit="ms", how=share))
    return rows


def kind_of(node: fx.Node) -> str:
    """Name the kind of an operation."""
    if node.op != "call_function":
        return REST
    target = str(node.target)
    return next((kind for kind, words in KINDS if any(word in target for word in words)), REST)


def layer_of(node: fx.Node) -> str:
    """Name the network's layer an operation belongs to, as the checkpoint does."""
    words = str(node.meta.get("module", "")).split(".")
    for word in reversed(words):
        if word[:1] in ("L", "b") and word[1:2].isdigit():
            return word
    return "mapping" if "mapping" in words else "input" if "input" in words else "between layers"


if __name__ == "__main__":
    sys.exit(main())
