"""Check and time the Triton kernels on a GPU: `scripts/gpu_checks.sh`; `--dry` without one."""

import argparse
import sys
from pathlib import Path

import torch
from gpu_checks_networks import infer_networks, train_step
from gpu_checks_operations import check_operations, time_operations
from gpu_checks_setting import Setting
from publish import RESULTS, publish

from gantune.measuring.latency import Deadline
from gantune.records.figures import Figure

# The wrapper ends the whole at 480 s; what has not begun by then is named as left out.
BUDGET_S = 420
SECTIONS = (check_operations, time_operations, train_step, infer_networks)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dry", action="store_true", help="tiny, in Triton's interpreter on the CPU")
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder of the JSON file")
    arguments = parser.parse_args()
    if not arguments.dry and not torch.cuda.is_available():
        print("there is no CUDA device; use --dry to run everything, tiny, in Triton's interpreter")
        return 4
    setting = Setting(is_dry=arguments.dry, deadline=Deadline(BUDGET_S))
    rows: list[Figure] = []
    for section in SECTIONS:
        if setting.deadline.is_over:
            rows.append(left_out(section.__name__, "the time budget was used up"))
            continue
        print(f"{section.__name__} ({setting.deadline.remaining_s:.0f} s left)", flush=True)
        rows += section(setting)
    if arguments.dry:
        rows = [row.model_copy(update={"how": f"dry run at tiny sizes: {row.how}"}) for row in rows]
    target = "gpu-checks-dry" if arguments.dry else "gpu-checks"
    return publish(target, rows, folder=arguments.out)


def left_out(name: str, reason: str) -> Figure:
    return Figure(name=name, value=None, unit="", how=f"left out: {reason}")


if __name__ == "__main__":
    sys.exit(main())
