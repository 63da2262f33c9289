#!/usr/bin/env bash
# Check gantune's Triton kernels on this machine's GPU and time them against reference forms and torch.compile.
# Takes at most 8 minutes. Without a GPU: `scripts/gpu_checks.sh --dry` runs all of it, tiny, in Triton's interpreter.
set -euo pipefail
cd "$(dirname "$0")/.."
python=${PYTHON:-.venv/bin/python}
[ -x "$python" ] || python=python3
for argument in "$@"; do
    if [ "$argument" = "--dry" ]; then
        export TRITON_INTERPRET=1
    fi
done
export PYTHONPATH="src:tests:benchmarks:scripts${PYTHONPATH:+:$PYTHONPATH}"
exec timeout 480 "$python" scripts/gpu_checks.py "$@"
