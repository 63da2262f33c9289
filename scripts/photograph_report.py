"""Photograph the top of a report page in headless Chromium: `photograph_report.py REPORT.html OUT.png`."""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

SIZE = (1280, 850)
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
)


def main() -> int:
    page, picture = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
    chromium = shutil.which("chromium")
    if chromium is None:
        print("chromium is not installed", file=sys.stderr)
        return 4
    with tempfile.TemporaryDirectory() as profile:
        window = f"--window-size={SIZE[0]},{SIZE[1]}"
        command = [chromium, *FLAGS, f"--user-data-dir={profile}", window, f"--screenshot={picture}"]
        subprocess.run([*command, page.as_uri()], check=True, capture_output=True, timeout=60)
    return 0


if __name__ == "__main__":
    sys.exit(main())
