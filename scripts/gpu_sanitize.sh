#!/bin/sh
# Run a part of the GPU tests under NVIDIA's compute-sanitizer: memcheck (reads and writes outside of what was allocated),
# then racecheck (hazards in shared memory). Needs the CUDA toolkit; exit code 2 where it is not there.
#
#   scripts/gpu_sanitize.sh [pytest arguments]
#
# PYTHON names the interpreter, as in gpu_test.sh. It takes minutes: every access is checked.
set -eu
cd "$(dirname "$0")/.."
PYTHON=${PYTHON:-python3}
sanitizer=$(command -v compute-sanitizer || echo /usr/local/cuda/bin/compute-sanitizer)
if [ ! -x "$sanitizer" ]; then
    echo "compute-sanitizer is not here: install the CUDA toolkit" >&2
    exit 2
fi
PYTHONPATH="$PWD${PYTHONPATH:+:$PYTHONPATH}"
export PYTHONPATH
# counts and rows of every kind of nest, launches that stop at every step, kernels of their own, local graphs
[ $# -gt 0 ] || set -- tests/gpu/test_gpu_executor.py tests/gpu/test_gpu_rows.py \
    -k "test_counts and nodes or capacity and 33 or stop_anywhere and 3 or special or local or distinct"
for tool in memcheck racecheck; do
    "$sanitizer" --tool "$tool" --target-processes application-only --error-exitcode 9 "$PYTHON" -m pytest -q -x "$@"
done
