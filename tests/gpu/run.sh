#!/usr/bin/env bash
# Everything that needs a GPU, in one call: builds with CUDA in build-gpu/, holds the CUDA components against their contracts on the device, runs part of that under compute-sanitizer, times them, and sets
# training steps captured into CUDA graphs against uncaptured ones.
#
#   tests/gpu/run.sh [--quick] [RESULTS]
#
# RESULTS (build-gpu/results) gets what was printed. --quick leaves out compute-sanitizer and the timing. Exit code 0: all is well; 1: something failed;
# 4: there is no GPU here, so nothing is known.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

quick=
[[ ${1:-} == --quick ]] && { quick=1; shift; }
build=build-gpu
results=${1:-$build/results}

if ! command -v nvidia-smi >/dev/null || ! devices=$(nvidia-smi -L 2>&1) || [[ -z $devices ]]; then
    echo "tests/gpu/run.sh: there is no NVIDIA GPU here (nvidia-smi lists none), so nothing was run and nothing is known." >&2
    exit 4
fi
mkdir -p "$results"
{
    echo "$devices"
    nvidia-smi --query-gpu=name,driver_version,memory.total,clocks.max.sm --format=csv
    git rev-parse HEAD
} | tee "$results/device.txt"

export SWITCHYARD_DEPS=${SWITCHYARD_DEPS:-$PWD/.deps}
fail() { echo "tests/gpu/run.sh: $*" >&2; exit 1; }
[[ -e $SWITCHYARD_DEPS/wheels/nvidia/cudnn ]] || ./dev setup --cuda || fail "LibTorch's CUDA libraries are not there"
cmake -S . -B $build -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_COMPILER=g++ -DSWITCHYARD_CUDA=ON \
    >"$results/configure.log" || fail "the configuration failed: $results/configure.log"
ninja -C $build all switchyard_gpu_timing switchyard_gpu_memory_timing switchyard_test_cuda_emulation \
    switchyard_test_cuda_emulation_fused switchyard_test_cuda_emulation_optim8bit >"$results/build.log" || fail "the build failed: $results/build.log"

status=0
# step NAME COMMAND...: what it prints goes to the screen and to RESULTS/NAME.txt.
step() {
    local name=$1
    shift
    echo "== $name: $*"
    if "$@" 2>&1 | tee "$results/$name.txt"; then
        echo "== $name: fine"
    else
        echo "== $name: FAILED"
        status=1
    fi
}
switchyard=$build/bin/switchyard
export SWITCHYARD_PLUGIN_PATH=$PWD/$build/lib/switchyard/plugins

declare -A kinds=([fused]="normalization/fused activation loss optimizer" [optim8bit]="optimizer")
declare -A small=([optimizer]=/unscale_clip/ [normalization/fused]=dropout [activation]=dropout [loss]=smoothing)  # cases enough for compute-sanitizer
step emulation ctest --test-dir $build -R '^cuda_emulation' --output-on-failure
for dtype in bfloat16 float16; do
    step "verify-flash-$dtype" $switchyard plugins verify flash --device cuda --component attention --option flash.untried_device=true --dtype $dtype \
        --json "$results/verify-flash-$dtype.json"
done
for plugin in fused optim8bit; do
    for kind in ${kinds[$plugin]}; do
        step "verify-$plugin-${kind%/*}" $switchyard plugins verify $plugin --device cuda --component $kind --option $plugin.untried_device=true \
            --json "$results/verify-$plugin-${kind%/*}.json"
    done
done
if [[ -e $SWITCHYARD_PLUGIN_PATH/libaten.so ]]; then
    step verify-aten $switchyard plugins verify aten --device cuda --json "$results/verify-aten.json"
fi

# The same job step by step and captured: the same losses, and the time of a step of each.
step graph tests/gpu/graph.sh $switchyard "$results/graph"

if [[ -z $quick ]]; then
    # compute-sanitizer takes minutes for what takes seconds: small cases of every kernel.
    if command -v compute-sanitizer >/dev/null; then
        for tool in memcheck racecheck initcheck synccheck; do
            for part in packed/causal /head_dim/ /cache/ dropout/one_hot; do
                step "$tool-${part//\//_}" compute-sanitizer --tool $tool --error-exitcode 1 --target-processes all \
                    --kernel-regex kns=flash_cuda $switchyard plugins verify flash --device cuda --component attention --option flash.untried_device=true \
                    --dtype bfloat16 --filter "$part"
            done
        done
        for plugin in fused optim8bit; do
            for kind in ${kinds[$plugin]}; do
                for tool in memcheck racecheck initcheck synccheck; do
                    step "$tool-$plugin-${kind%/*}" compute-sanitizer --tool $tool --error-exitcode 1 --target-processes all --kernel-regex kns=${plugin}_cuda \
                        $switchyard plugins verify $plugin --device cuda --component $kind --option $plugin.untried_device=true --dtype bfloat16 \
                        --filter "${small[$kind]}"
                done
            done
        done
    else
        echo "== compute-sanitizer is not on PATH (it comes with the CUDA toolkit): left out, and that counts as a failure"
        status=1
    fi
    step timing $build/tests/bin/gpu_timing $SWITCHYARD_PLUGIN_PATH/libflash.so
    bitsandbytes=$(python3 -c 'import glob, os, importlib.util as u
print("\n".join(glob.glob(os.path.dirname(u.find_spec("bitsandbytes").origin) + "/libbitsandbytes_cuda13*.so")))' 2>/dev/null | sort | head -1)
    [[ -n $bitsandbytes ]] || echo "== bitsandbytes: Python has none built for CUDA 13, so no row against it"
    step memory-timing $build/tests/bin/gpu_memory_timing $SWITCHYARD_PLUGIN_PATH $bitsandbytes
    # `switchyard bench` refuses a device where it cannot time on one.
    echo "== bench attention on cuda"
    $switchyard bench attention --set run.device=cuda --set attention.options.flash.untried_device=true --dtype bfloat16 --json "$results/bench.json" 2>&1 | tee "$results/bench.txt" ||
        echo "== bench attention: not on cuda (above); the timing of this run is in $results/timing.txt"
fi
echo "== results in $results: $([[ $status == 0 ]] && echo "all is well" || echo "something FAILED")"
exit $status
