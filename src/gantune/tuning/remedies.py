"""All remedies that can be applied to a training script from outside."""

import math
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from gantune.machine import TUNED_ALLOCATOR, is_glibc
from gantune.profiling.script_record import ScriptRecord
from gantune.records.profile import FindingKind

_APPLY = "gantune.tuning.apply"
# More loader workers than this for each core only wait for each other.
_MAX_WORKERS_A_CORE = 6
_COMPILERS = ("g++", "clang++")
Reason = str


def _always(_record: ScriptRecord) -> Reason | None:
    return None


@dataclass(frozen=True)
class Remedy:
    """A change, the findings it answers, and the lines that make it permanent.

    `calls` are functions for the script's process, written `module:function:argument`. `why_not` says why the
    remedy makes no sense for a script that was seen once, or gives None. Remedies of one `group` exclude each
    other.
    """

    name: str
    kinds: tuple[FindingKind, ...]
    lines: tuple[str, ...]
    calls: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    why_not: Callable[[ScriptRecord], Reason | None] = _always
    group: str = ""


def list_remedies(record: ScriptRecord) -> tuple[Remedy, ...]:
    """List what can be tried on a script, cheap and exact remedies first."""
    cores = record.num_cores
    return (
        *(_threads(count) for count in sorted({1, cores})),
        Remedy(
            "allocator",
            ("allocator",),
            ("# environment: keep large tensors in glibc's heap (peak memory × 1.2 to 1.8)",),
            environment=TUNED_ALLOCATOR,
            why_not=lambda _: None if is_glibc() else "this system has no glibc",
        ),
        *(_workers(count) for count in sorted({1, cores, _count_workers(record)})),
        *_optimizer_remedies(),
        *_network_remedies(),
        *_gpu_remedies(),
        Remedy(
            "twice the batch",
            ("batch_size",),
            (),
            why_not=lambda _: "it changes what is trained: double it by hand, and the learning rate with it",
        ),
    )


def _optimizer_remedies() -> tuple[Remedy, ...]:
    return (
        Remedy(
            "fused optimizer",
            ("launch_bound", "python_overhead"),
            ("torch.optim.Adam(…, fused=True)",),
            calls=(f"{_APPLY}:fuse_optimizers",),
            why_not=lambda seen: _no_optimizer(seen, is_fused=True),
            group="optimizer",
        ),
        Remedy(
            "foreach optimizer",
            ("launch_bound", "python_overhead"),
            ("torch.optim.Adam(…, foreach=True)",),
            calls=(f"{_APPLY}:batch_optimizers",),
            why_not=lambda seen: _no_optimizer(seen, is_fused=False),
            group="optimizer",
        ),
    )


def _network_remedies() -> tuple[Remedy, ...]:
    return (
        Remedy(
            "channels-last",
            ("memory_layout",),
            (
                "generator.to(memory_format=torch.channels_last)",
                "discriminator.to(memory_format=torch.channels_last)",
            ),
            calls=(f"{_APPLY}:keep_channels_last",),
        ),
        Remedy(
            "bfloat16 products",
            ("precision", "dominant_operator"),
            ('torch.set_float32_matmul_precision("medium")',),
            calls=(f"{_APPLY}:allow_bfloat16_products",),
            why_not=lambda seen: None if seen.matmul_precision == "highest" else "the script sets it",
        ),
        Remedy(
            "gantune operations",
            ("reference_ops",),
            ("import gantune.ops; gantune.ops.install()  # before the networks are imported",),
            calls=(f"{_APPLY}:install_operations",),
            why_not=lambda seen: (
                None if seen.reference_operations else "the script has no StyleGAN operations"
            ),
        ),
        Remedy(
            "bfloat16 autocast",
            ("precision", "dominant_operator"),
            ('with torch.autocast("cpu", dtype=torch.bfloat16): …  # around forward passes',),
            calls=(f"{_APPLY}:cast_to_bfloat16",),
        ),
        Remedy(
            "compiled networks",
            ("launch_bound", "python_overhead"),
            ("generator.compile(); discriminator.compile()",),
            calls=(f"{_APPLY}:compile_networks",),
            why_not=_why_not_compile,
        ),
    )


def _gpu_remedies() -> tuple[Remedy, ...]:
    return (
        Remedy(
            "pinned memory and asynchronous copies",
            ("host_device_copies", "data_loading"),
            ("DataLoader(…, pin_memory=True); batch.to(device, non_blocking=True)",),
            calls=(f"{_APPLY}:copy_asynchronously",),
            why_not=_why_not_gpu,
        ),
        Remedy(
            "cudnn.benchmark",
            ("library_settings", "dominant_operator"),
            ("torch.backends.cudnn.benchmark = True",),
            calls=(f"{_APPLY}:search_convolutions",),
            why_not=lambda seen: (
                _why_not_gpu(seen) or ("the script sets it" if seen.cudnn_benchmark else None)
            ),
        ),
    )


def _threads(count: int) -> Remedy:
    return Remedy(
        f"{count} threads" if count > 1 else "1 thread",
        ("threads",),
        (f"torch.set_num_threads({count})",),
        calls=(f"{_APPLY}:fix_threads:{count}",),
        environment={"OMP_NUM_THREADS": str(count), "MKL_NUM_THREADS": str(count)},
        why_not=lambda seen: f"it has {count} already" if seen.threads == count else None,
        group="threads",
    )


def _workers(count: int) -> Remedy:
    return Remedy(
        f"{count} loader workers" if count > 1 else "1 loader worker",
        ("data_loading",),
        (f"DataLoader(…, num_workers={count}, persistent_workers=True, prefetch_factor=4)",),
        calls=(f"{_APPLY}:load_in_workers:{count}",),
        why_not=lambda seen: _why_not_workers(seen, count),
        group="workers",
    )


def _count_workers(record: ScriptRecord) -> int:
    """Give as many workers as load a batch in the time of a step's other work.

    Workers that are there already load while the other work runs, and the script waits for the rest.
    """
    stage = record.stage_named("plain")
    waiting_ms = sum(end - start for start, end in stage.loads) / 1e6
    other_ms = sum(stage.step_ms) - waiting_ms
    if not stage.loads or other_ms <= 0:
        return 1
    workers = record.loader.workers if record.loader is not None else 0
    loading_ms = workers * (waiting_ms + other_ms) if workers else waiting_ms
    return max(1, min(math.ceil(loading_ms / other_ms), _MAX_WORKERS_A_CORE * record.num_cores))


def _why_not_workers(record: ScriptRecord, count: int) -> Reason | None:
    if record.loader is None:
        return "the script has no DataLoader"
    if record.loader.workers == count:
        return f"its DataLoader has {count}"
    is_ours = any("load_in_workers" in call for call in record.remedies)
    return "its DataLoader has workers" if record.loader.workers and not is_ours else None


def _no_optimizer(record: ScriptRecord, *, is_fused: bool) -> Reason | None:
    known = [one for one in record.optimizers if one.kind in ("Adam", "AdamW", "SGD")]
    if not known:
        return "it has none of Adam, AdamW and SGD"
    is_done = all(one.is_fused if is_fused else one.foreach for one in known)
    return "its optimizers are so already" if is_done else None


def _why_not_gpu(record: ScriptRecord) -> Reason | None:
    return None if record.cuda else "there is no GPU here"


def _why_not_compile(record: ScriptRecord) -> Reason | None:
    if any(grad[2] for stage in record.stages.values() for grad in stage.grads):
        return "its penalties differentiate twice, which compiled networks cannot"
    if not record.cuda and not any(map(shutil.which, _COMPILERS)):
        return f"there is no C++ compiler here ({', '.join(_COMPILERS)})"
    return None
