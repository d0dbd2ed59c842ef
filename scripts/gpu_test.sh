#!/bin/sh
# The tests that need a CUDA device, on any machine that has one.
#
#   scripts/gpu_test.sh [--wheels FOLDER] [--truth] [pytest arguments]
#
# --wheels FOLDER  install the wheels that lie there first (no network), into a folder of their own
# --truth          then compare every known count on the device (needs the graphs beside the repository)
#
# PYTHON names the interpreter (default: python3); it needs CuPy, numpy, llvmlite, pytest, hypothesis.
set -eu
cd "$(dirname "$0")/.."
PYTHON=${PYTHON:-python3}
wheels='' truth=''
while [ $# -gt 0 ]; do
    case $1 in
        --wheels) wheels=$2; shift 2 ;;
        --truth) truth=yes; shift ;;
        *) break ;;
    esac
done

if [ -n "$wheels" ]; then
    site=$(mktemp -d)
    trap 'rm -rf "$site"' EXIT
    "$PYTHON" -m pip install -q --no-index --no-deps --no-compile --no-cache-dir --upgrade --target "$site" "$wheels"/*.whl
    PYTHONPATH="$site${PYTHONPATH:+:$PYTHONPATH}"
fi
PYTHONPATH="$PWD${PYTHONPATH:+:$PYTHONPATH}"
export PYTHONPATH

GDB_TEST_BACKENDS=cpu,gpu "$PYTHON" -m pytest -q tests/gpu tests/unit/executor tests/unit/gdb/language/test_element_comparisons.py "$@"
if [ -n "$truth" ]; then
    "$PYTHON" -m benchmarks.matching.known_counts --device cuda
fi
