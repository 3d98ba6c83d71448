#!/bin/sh
# All that the tracer can only show on a GPU, in a few minutes: programs with known waits, a count of their calls that is made without
# CUPTI, and a prediction held against its repair. usage: gpu_check.sh COMMAND [CUDA_PROGRAM]   COMMAND: bin/tutti, with libtutti_trace.so
# beside it or in ../lib, where libtutti_runtime_calls.so is, too; CUDA_PROGRAM: bin/trace_waits. TORCH_PYTHON: a python3 with PyTorch and
# JAX, if not this one. KEEP_TRACES_IN: a folder for what is recorded.
here=$(dirname "$0")
python=${TORCH_PYTHON:-python3}
export XLA_PYTHON_CLIENT_PREALLOCATE=false
if [ -n "$KEEP_TRACES_IN" ]; then mkdir -p "$KEEP_TRACES_IN"; fi
"$python" "$here/confirm_prediction.py" "$1" 100
prediction=$?
"$python" "$here/victims_test.py" "$@" 2>&1
victims=$?
"$python" "$here/runtime_calls_test.py" "$1" "$(dirname "$1")/../lib/libtutti_runtime_calls.so" 2>&1
calls=$?
echo "gpu_check: prediction $prediction, victims $victims, calls $calls (0: as it should be)"
[ $prediction = 0 ] && [ $victims = 0 ] && [ $calls = 0 ]
