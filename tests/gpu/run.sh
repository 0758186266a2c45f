#!/usr/bin/env bash
# Everything that needs a GPU, in one call: holds the CUDA components against their contracts on the device, runs part of that
# under compute-sanitizer, trains and generates on the device, and times kernels and whole steps.
#
#   tests/gpu/run.sh [--built BUILD] [--only PART,...] [--steps REGEX] [--deadline SECONDS] [--jobs N] [RESULTS]
#
# --built takes a build, or an installation, as it is; without it build-gpu/ is built, with CUDA. PART: components, sanitizer, jobs,
# timing. --steps: only steps whose name matches. A step that takes longer than SECONDS (600) has failed. N steps run at a time (half
# of the processors), those of timing one by one. RESULTS (BUILD/results) gets what each step printed. Exit code 0: all is well; 1: something failed; 4: there is no GPU here, so
# nothing is known.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

build='' wanted='' parts=components,sanitizer,jobs,timing deadline=600 jobs=$(((($(nproc) + 1)) / 2)) results=''
while [[ $# -gt 0 ]]; do
    case $1 in
        --built) build=$2 && shift 2 ;;
        --only) parts=$2 && shift 2 ;;
        --steps) wanted=$2 && shift 2 ;;
        --deadline) deadline=$2 && shift 2 ;;
        --jobs) jobs=$2 && shift 2 ;;
        -*) echo "tests/gpu/run.sh: there is no option $1; see the head of the file" >&2 && exit 2 ;;
        *) results=$1 && shift ;;
    esac
done
results=${results:-${build:-build-gpu}/results}

if ! command -v nvidia-smi >/dev/null || ! devices=$(nvidia-smi -L 2>&1) || [[ -z $devices ]]; then
    echo "tests/gpu/run.sh: there is no NVIDIA GPU here (nvidia-smi lists none), so nothing was run and nothing is known." >&2
    exit 4
fi
mkdir -p "$results"
{
    echo "$devices"
    nvidia-smi --query-gpu=name,driver_version,memory.total,clocks.max.sm --format=csv
    git rev-parse HEAD 2>/dev/null
} | tee "$results/device.txt"

fail() { echo "tests/gpu/run.sh: $*" >&2; exit 1; }
if [[ -z $build ]]; then
    build=build-gpu
    export SWITCHYARD_DEPS=${SWITCHYARD_DEPS:-$PWD/.deps}
    [[ -e $SWITCHYARD_DEPS/wheels/nvidia/cudnn ]] || ./dev setup --cuda || fail "LibTorch's CUDA libraries are not there"
    cmake -S . -B $build -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_COMPILER=g++ -DSWITCHYARD_CUDA=ON \
        >"$results/configure.log" || fail "the configuration failed: $results/configure.log"
    ninja -C $build all switchyard_gpu_timing switchyard_gpu_memory_timing >"$results/build.log" ||
        fail "the build failed: $results/build.log"
fi
switchyard=$build/bin/switchyard
export SWITCHYARD_PLUGIN_PATH=$PWD/$build/lib/switchyard/plugins
export OMP_NUM_THREADS=${OMP_NUM_THREADS:-2}  # of each step beside others

steps=()
# run NAME COMMAND...: what it prints goes to RESULTS/NAME.txt, its exit code and its seconds to RESULTS/NAME.end.
run() {
    local name=$1 begun=$SECONDS status=0
    shift
    echo "$*" >"$results/$name.txt"
    timeout -k 5 "$deadline" "$@" >>"$results/$name.txt" 2>&1 </dev/null || status=$?
    echo "$status $((SECONDS - begun))" >"$results/$name.end"
}
# beside NAME COMMAND...: runs it beside others.
beside() {
    [[ $1 =~ $wanted ]] || return 0
    steps+=("$1")
    while [[ $(jobs -rp | wc -l) -ge $jobs ]]; do wait -n || true; done
    run "$@" &
}
# alone NAME COMMAND...: runs it when all others have ended.
alone() {
    [[ $1 =~ $wanted ]] || return 0
    steps+=("$1")
    wait
    run "$@"
}

# The components that have code for a device, by plugin: kinds, and cases enough for compute-sanitizer.
cases=(
    "flash attention packed/causal" "flash attention /head_dim/" "flash attention /cache/" "flash attention dropout/one_hot"
    "fused normalization/fused dropout" "fused activation dropout" "fused loss smoothing" "fused optimizer /unscale_clip/"
    "optim8bit optimizer /unscale_clip/"
)
if [[ ,$parts, == *,components,* ]]; then
    for dtype in bfloat16 float16; do
        beside "verify-flash-$dtype" $switchyard plugins verify flash --device cuda --dtype $dtype --json "$results/verify-flash-$dtype.json"
    done
    # By kind where a plugin takes minutes.
    for plugin in fused torch naive; do
        for kind in attention optimizer loss linear normalization activation; do
            [[ $plugin != fused || ! $kind =~ attention|linear ]] || continue
            component=$kind
            [[ $plugin/$kind != fused/normalization ]] || component=normalization/fused
            beside "verify-$plugin-$kind" $switchyard plugins verify $plugin --device cuda --component $component \
                --json "$results/verify-$plugin-$kind.json"
        done
    done
    for plugin in optim8bit fp8 amp aten chunked; do
        beside "verify-$plugin" $switchyard plugins verify $plugin --device cuda --json "$results/verify-$plugin.json"
    done
fi
if [[ ,$parts, == *,jobs,* ]]; then
    beside jobs python3 tests/gpu/jobs.py $switchyard "$results/jobs"
fi
if [[ ,$parts, == *,sanitizer,* ]]; then
    for case in "${cases[@]}"; do
        read -r plugin kind filter <<<"$case"
        for tool in memcheck racecheck initcheck synccheck; do
            # Who reads what nobody wrote is told by looking at all kernels, since LibTorch's write the inputs.
            kernels=$([[ $tool == initcheck ]] || echo --kernel-name kns=${plugin}_cuda)
            beside "$tool-$plugin-${kind%/*}-${filter//\//_}" compute-sanitizer --tool $tool $kernels --error-exitcode 1 \
                --target-processes all $switchyard plugins verify $plugin --device cuda --component "$kind" --dtype bfloat16 --drawn 0 \
                --filter "$filter"
        done
    done
fi
wait
if [[ ,$parts, == *,timing,* ]]; then
    bitsandbytes=$(python3 -c 'import glob, os, importlib.util as u
print("\n".join(glob.glob(os.path.dirname(u.find_spec("bitsandbytes").origin) + "/libbitsandbytes_cuda13*.so")))' 2>/dev/null | sort | head -1)
    [[ -n $bitsandbytes ]] || echo "== bitsandbytes: Python has none built for CUDA 13, so no row against it"
    alone timing "$build/tests/bin/gpu_timing" "$SWITCHYARD_PLUGIN_PATH/libflash.so"
    alone memory-timing "$build/tests/bin/gpu_memory_timing" "$SWITCHYARD_PLUGIN_PATH" $bitsandbytes
fi

status=0
for name in "${steps[@]}"; do
    read -r code seconds <"$results/$name.end" || code=?
    [[ $code == 0 ]] || status=1
    printf '%-44s %-6s %4s s  %s\n' "$name" "$([[ $code == 0 ]] && echo fine || echo "FAILED ($code)")" "$seconds" "$(tail -n 1 "$results/$name.txt" | cut -c1-100)"
done
echo "== results in $results: $([[ $status == 0 ]] && echo "all is well" || echo "something FAILED")"
exit $status
