#include "backward_plan.h"

#include <map>
#include <tuple>

namespace switchyard::flash {
namespace {

// Parts of at least two tiles: each reads all queries again.
constexpr std::int64_t smallest_part = 2 * backward_block;
// In how many parts all keys of all kv heads are cut: enough for the threads of most machines.
constexpr std::int64_t wanted_parts = 64;
// Tasks a thread has at the least before parts are worth their sums.
constexpr std::int64_t tasks_per_thread = 4;

std::int64_t part_size_of(const std::vector<Sequence>& sequences, std::int64_t kv_heads) {
    std::int64_t keys = 0;
    for (const auto& sequence : sequences) keys += sequence.keys * kv_heads;
    const std::int64_t share = (keys + wanted_parts - 1) / wanted_parts;
    return std::max(smallest_part, (share + backward_block - 1) / backward_block * backward_block);
}

std::int64_t longest(const std::vector<Sequence>& sequences) {
    std::int64_t keys = 1;
    for (const auto& sequence : sequences) keys = std::max(keys, sequence.keys);
    return keys;
}

}  // namespace

BackwardPlan plan_backward(const std::vector<Sequence>& sequences, std::int64_t kv_heads,
                           std::int64_t threads, const SharedBias& shared) {
    BackwardPlan plan;
    plan.part_size = shared.keys ? longest(sequences) : part_size_of(sequences, kv_heads);
    std::int64_t attending = 0;
    for (const auto& sequence : sequences) {
        if (sequence.queries == 0 || sequence.keys == 0) continue;
        ++attending;
        plan.most_parts = std::max(plan.most_parts, plan.parts(sequence));
    }
    const std::int64_t whole = (shared.sequences ? 1 : attending) * (shared.heads ? 1 : kv_heads);
    plan.split = threads > 1 && plan.most_parts > 1 && whole < tasks_per_thread * threads;

    std::map<std::tuple<std::int64_t, std::int64_t, std::int64_t>, std::vector<BackwardItem>> tasks;
    for (std::size_t i = 0; i < sequences.size(); ++i) {
        if (sequences[i].queries == 0 || sequences[i].keys == 0) continue;
        const auto s = static_cast<std::int64_t>(i);
        const std::int64_t parts = plan.parts(sequences[i]), step = plan.split ? 1 : parts;
        for (std::int64_t head = 0; head < kv_heads; ++head)
            for (std::int64_t part = 0; part < parts; part += step)
                tasks[{shared.sequences ? 0 : s, shared.heads ? 0 : head, part}].push_back(
                    {s, head, part, part + step});
    }
    for (auto& [key, items] : tasks) plan.tasks.push_back(std::move(items));
    return plan;
}

}  // namespace switchyard::flash
