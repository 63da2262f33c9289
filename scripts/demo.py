"""Optimize Real-ESRGAN (SRVGG x4, for anime video) on real photographs, as a user would, into `demo-run/`."""

import subprocess
import sys
from pathlib import Path

from fetch_real_inputs import DEFAULT_FOLDER, fetch

ROOT = Path(__file__).resolve().parent.parent
RUN = ROOT / "demo-run"


def main() -> int:
    fetch(DEFAULT_FOLDER)
    command = ["optimize", str(DEFAULT_FOLDER / "srvgg-x4-animevideo.param"), "--target", "cpu"]
    pictures = ["--samples", str(DEFAULT_FOLDER), "--image-size", "128"]
    print("$ gantune", *command, *pictures, "--out", RUN.name, flush=True)
    return subprocess.call(
        [sys.executable, "-m", "gantune", *command, *pictures, "--out", str(RUN), "--overwrite"]
    )


if __name__ == "__main__":
    sys.exit(main())
