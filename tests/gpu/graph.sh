#!/usr/bin/env bash
# A small GPT on the device, uncaptured, captured and uncaptured again: says the median time of a step of each and their last losses.
#
#   tests/gpu/graph.sh SWITCHYARD FOLDER
#
# Exit code 1: a run failed, nothing was replayed, or the losses are further apart than 2 %.
set -euo pipefail
switchyard=$1
folder=$2
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
rm -rf "$folder"
mkdir -p "$folder"
cp "$here/graph.toml" "$folder/"
{
    printf 'text\n'
    for i in $(seq 1 4000); do
        printf 'row %d: the sum of %d and %d is %d, and their product is %d\n' "$i" $((i % 17)) $((i % 23)) $((i % 17 + i % 23)) $((i % 17 * (i % 23)))
    done
} >"$folder/text.tsv"

# train NAME CUDA_GRAPH
train() {
    "$switchyard" train "$folder/graph.toml" --run "$folder/$1" --set train.cuda_graph="$2"
}
# number NAME KEY...: of the run's summary
number() {
    local name=$1
    shift
    python3 - "$folder/$name/summary.json" "$@" <<'PYTHON'
import json
import sys
value = json.load(open(sys.argv[1]))
for key in sys.argv[2:]:
    value = value[key]
print(value)
PYTHON
}

train before false
train graph true
train after false
for name in before graph after; do
    echo "$name: $(number $name step_ms median) ms a step, loss $(number $name train_loss)"
done
echo "graphs: $(number graph cuda_graph captures), replays: $(number graph cuda_graph replays)"
[[ $(number graph cuda_graph replays) -ge 190 ]] || { echo "too few steps were replayed" >&2; exit 1; }
python3 -c 'import sys
before, graph, a, b = map(float, sys.argv[1:])
print(f"uncaptured / captured: {a / b:.2f}")
sys.exit(abs(graph - before) > 0.02 * before)' \
    "$(number before train_loss)" "$(number graph train_loss)" "$(number before step_ms median)" "$(number graph step_ms median)" ||
    { echo "the losses are further apart than 2 %" >&2; exit 1; }
