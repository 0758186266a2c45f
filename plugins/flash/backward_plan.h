// How the work of backward is cut into tasks for threads. No LibTorch here.
//
// The gradients of a kv head's keys and values need all its queries, those of a query all its keys. A task is
// therefore a kv head of a sequence with all its keys, or, where there are too few of those for the threads,
// one part of its keys; then what the parts say of a query is added up at the end. Where the parts lie
// follows from lengths and heads alone, and both ways add up part by part, so results are the same bits
// whatever the threads.
#pragma once

#include <cstdint>
#include <vector>

#include "tile_plan.h"

namespace switchyard::flash {

constexpr std::int64_t backward_block = 256;  // keys of a tile

// Parts [first_part, last_part) of a kv head's keys.
struct BackwardItem {
    std::int64_t sequence = 0, kv_head = 0, first_part = 0, last_part = 0;
};

// Along which dimensions the gradient of a dense bias is summed: what adds to the same element is one task,
// in order.
struct SharedBias {
    bool sequences = false, heads = false, keys = false;
};

struct BackwardPlan {
    std::int64_t part_size = 0;
    std::int64_t most_parts = 0;
    bool split = false;                            // by parts
    std::vector<std::vector<BackwardItem>> tasks;  // the items of one in order

    std::int64_t parts(const Sequence& sequence) const { return (sequence.keys + part_size - 1) / part_size; }
    KeyRange part(const Sequence& sequence, std::int64_t i) const {
        return {i * part_size, std::min((i + 1) * part_size, sequence.keys)};
    }
};

// Sequences without queries or keys are in no task.
BackwardPlan plan_backward(const std::vector<Sequence>& sequences, std::int64_t kv_heads,
                           std::int64_t threads, const SharedBias& shared = {});

}  // namespace switchyard::flash
