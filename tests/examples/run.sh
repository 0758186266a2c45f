#!/usr/bin/env bash
# Each example plugin passes verify on the CPU, and serves its slot of the job that lies beside it, which learns; what has a
# state goes on from it with the same bits.
# To add an example: a line of `example` at the end, and its target in CMakeLists.txt.
source "$(dirname "$0")/../support/script.sh"
switchyard=$SWITCHYARD_TEST_BUILD_DIR/bin/switchyard
libraries=$SWITCHYARD_TEST_BUILD_DIR/tests/support/plugins/example
examples=$SWITCHYARD_TEST_SOURCE_DIR/examples/plugins
builtin=$SWITCHYARD_TEST_BUILD_DIR/lib/switchyard/plugins
# Nothing else, so that no other slot is measured or chosen otherwise than here.
others=$builtin/libtorch.so

# verifies NAME [DRAWN]
verifies() {
    "$switchyard" plugins verify "$libraries/lib$1.so" --drawn "${2:-5}" --seed "$drawn_seed" >"$TMPDIR/verify" 2>&1 || fail "verify gives $?: $(cat "$TMPDIR/verify")"
    expect_text "$TMPDIR/verify" "no faults in what ran"
}

# with_example NAME WORD...: switchyard WORD, with the example of that name.
with_example() {
    local name=$1 command=$2 job=$3
    shift 3
    SWITCHYARD_PLUGIN_PATH=$others:$libraries/lib$name.so "$switchyard" "$command" "$job" --set runtime.auto=priority "$@"
}

# The lines of a plan begin with their slot, whose part of the model may follow behind a dot.
serves_its_slot() {
    local name=$1 slot=$2 lines
    with_example "$name" plan "$examples/$name/train.toml" >"$TMPDIR/plan" 2>&1 || fail "plan gives $?: $(cat "$TMPDIR/plan")"
    lines=$(grep -E "^$slot[. ]" "$TMPDIR/plan") || fail "there is no slot $slot in the plan: $(cat "$TMPDIR/plan")"
    if grep -v " $name/$name " <<<"$lines"; then fail "these lines of the plan have another component"; fi
}

# The last evaluation has a loss below that limit, and the record says that the example ran.
learns() {
    local name=$1 limit=$2 loss
    rm -rf "$TMPDIR/run"
    with_example "$name" train "$examples/$name/train.toml" --run "$TMPDIR/run" >"$TMPDIR/train" 2>&1 || fail "train gives $?: $(cat "$TMPDIR/train")"
    expect_text "$TMPDIR/run/summary.json" "\"component\": \"$name\""
    loss=$(sed -nE 's/^step .*, loss ([0-9.e+-]+) of .*/\1/p' "$TMPDIR/train" | tail -n 1)
    awk -v loss="$loss" -v limit="$limit" 'BEGIN { exit !(loss != "" && loss + 0 < limit) }' || fail "the loss is '$loss': $(cat "$TMPDIR/train")"
}

# Stopped after 5 of 12 steps and resumed, a run ends with the weights of one that was not stopped.
goes_on() {
    local name=$1 run
    shift
    local sets=(--set train.checkpoint_every=1 --set train.log_every=1 --set train.schedule=constant "$@")
    rm -rf "$TMPDIR/whole" "$TMPDIR/parts"
    with_example "$name" train "$examples/$name/train.toml" --run "$TMPDIR/whole" --set train.steps=12 "${sets[@]}" >"$TMPDIR/log" 2>&1 || fail "$(cat "$TMPDIR/log")"
    with_example "$name" train "$examples/$name/train.toml" --run "$TMPDIR/parts" --set train.steps=5 "${sets[@]}" >"$TMPDIR/log" 2>&1 || fail "$(cat "$TMPDIR/log")"
    with_example "$name" train "$examples/$name/train.toml" --run "$TMPDIR/parts" --set train.steps=12 "${sets[@]}" --resume --allow-change train.steps >"$TMPDIR/log" 2>&1 || fail "$(cat "$TMPDIR/log")"
    cmp "$TMPDIR/whole/model/model.safetensors" "$TMPDIR/parts/model/model.safetensors"
}

# example NAME SLOT LIMIT [DRAWN]
example() {
    local name=$1 slot=$2 limit=$3
    check "$name passes verify" verifies "$name" "${4:-5}"
    check "$name serves every $slot of its job" serves_its_slot "$name" "$slot"
    check "the job of $name learns" learns "$name" "$limit"
}

check "the example activation passes verify" verifies gated
# The name, its slot, and the loss to get below: guessing has 5.6 of bytes, and 0.69 of two labels, 0.17 by the focal loss. Formulas that no
# reference has are drawn more often.
example adafactor optimizer 3.5
example focal loss 0.1 20
example length_buckets data_loader 0.4
example mish activation 3 20
example online_softmax attention 3
example panel_linear linear 3
example patient_fp16 precision 3
example warp_norm normalization 3
check "a run with length_buckets that is resumed has the same batches" goes_on length_buckets
# The first six steps overflow, one of them after it goes on: with patience left for that the scale would be another.
check "a run with patient_fp16 that is resumed has the same loss scale" goes_on patient_fp16 --set precision.options.patient_fp16.init_scale=1.5e7
finish
