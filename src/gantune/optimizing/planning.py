"""Make a plan: look at the network and the machine, walk the decision tree, judge every offer."""

from pathlib import Path

from gantune.backends import BACKENDS
from gantune.checkpoints import load_checkpoint
from gantune.machine import describe_machine
from gantune.networks.contract import Network
from gantune.optimizing.facts import count_network, hash_file
from gantune.optimizing.options import OptimizeOptions
from gantune.optimizing.planner import decide_plan
from gantune.optimizing.samples import draw_test_inputs
from gantune.optimizing.situation import Situation
from gantune.quality.image_sources import PictureFiles
from gantune.records.plan import Plan


def make_plan(path: Path, options: OptimizeOptions) -> Plan:
    """Load the checkpoint, walk the decision tree, and return everything the run would do."""
    network = load_checkpoint(path).generator
    assert isinstance(network, Network)
    machine = describe_machine()
    # Refuse pictures that do not fit now, not after minutes of building.
    draw_test_inputs(
        network.inputs, seed=options.seed, samples=options.samples, image_size=options.image_size
    )
    if options.data is not None:
        PictureFiles(options.data)
    num_parameters, macs = count_network(network, image_size=options.image_size)
    situation = Situation(
        family=network.family,
        target=options.target,
        goal=options.goal,
        precision=options.precision,
        instruction_sets=tuple(machine.instruction_sets),
        num_parameters=num_parameters,
        macs=macs,
        budget=options.budget,
        budget_minutes=options.budget_minutes,
        can_calibrate=True,
        engines=tuple(backend.name for backend in BACKENDS if backend.is_available()),
    )
    branch, candidates, decisions = decide_plan(situation, BACKENDS)
    return Plan(
        source=str(path),
        source_sha256=hash_file(path),
        family=network.family,
        target=options.target,
        goal=options.goal,
        seed=options.seed,
        batch=options.batch_size,
        threads=options.threads or machine.num_cores,
        image_size=options.image_size,
        float32_bytes=4 * num_parameters,
        rounds=options.rounds,
        precision=options.precision,
        budget=options.budget.as_record(),
        image_error=options.image_error,
        samples=None if options.samples is None else str(options.samples),
        budget_minutes=options.budget_minutes,
        data=None if options.data is None else str(options.data),
        num_images=options.num_images,
        branch=branch.name,
        decisions=decisions,
        candidates=candidates,
    )
