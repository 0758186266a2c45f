#include "core/workbench/scale/rank_memory.h"

#include <algorithm>

#include "core/kernel/base/input_error.h"
#include "core/kernel/config/trainable.h"

namespace switchyard::scale {
namespace {

std::int64_t rounded(double bytes) { return static_cast<std::int64_t>(bytes + 0.5); }

bool runs_again(config::Recompute recompute, const model::ModelPart& part) {
    const bool attention = part.name.ends_with(" attention");
    const bool feed_forward = part.name.ends_with(" feed-forward");
    switch (recompute) {
        case config::Recompute::none:
            return false;
        case config::Recompute::layers:
            return attention || feed_forward;
        case config::Recompute::attention:
            return attention;
        case config::Recompute::feed_forward:
            return feed_forward;
    }
    return false;
}

// Of layers that backward runs again their input is kept, and all of the one that is being run.
double activations_of(const config::Config& config, const model::ModelPart& part) {
    const auto all = static_cast<double>(part.activation_bytes);
    if (!runs_again(config.train.recompute, part)) return all;
    const double layers = static_cast<double>(part.layers);
    const double again = layers / static_cast<double>(config.train.recompute_every);
    const double width =
        static_cast<double>(config.model.hidden_size) *
        static_cast<double>(size_of(config.precision.parameter_dtype.value_or(DType::float32)));
    const double input = static_cast<double>(config.batch.most_tokens()) * width;
    return all * (layers - again) / layers + again * input + all / layers;
}

// The root with its gradients, a layer with its own, the next layer as it arrives, and the gradients of the
// one before as they leave.
std::int64_t gathered_bytes(const std::vector<DividedUnit>& units, double value_bytes, bool rounds) {
    double largest = 0.0;
    for (std::size_t i = 0; i + 1 < units.size(); ++i)
        largest = std::max(largest, static_cast<double>(units[i].values));
    const double leaving = rounds ? 2.0 : value_bytes;
    return rounded(2.0 * static_cast<double>(units.back().values) * value_bytes +
                   largest * (3.0 * value_bytes + leaving));
}

}  // namespace

double state_numbers(OptimizerKind algorithm, double momentum) {
    switch (algorithm) {
        case OptimizerKind::adamw:
        case OptimizerKind::adam:
        case OptimizerKind::lamb:
            return 2.0;
        case OptimizerKind::lion:
            return 1.0;
        case OptimizerKind::sgd:
        case OptimizerKind::muon:
            return momentum > 0.0 ? 1.0 : 0.0;
        case OptimizerKind::custom:
            break;
    }
    return 0.0;
}

RankMemory memory_of_rank(const config::Config& config, const std::vector<model::ModelPart>& parts,
                          DType computed_in, std::int64_t ranks, const std::vector<DividedUnit>& units) {
    if (config.optimizer.algorithm == OptimizerKind::custom)
        throw base::InputError(config::told_at(config, "optimizer.algorithm") + "how much state " +
                               config.optimizer.algorithm_name() +
                               " keeps is not known before it runs; expected adamw, adam, sgd, lion, lamb or "
                               "muon, whichever keeps most like it");
    double values = 0.0, activations = 0.0;
    for (const auto& part : parts) {
        values += static_cast<double>(part.parameters);
        activations += activations_of(config, part);
    }
    const auto dtype = config.precision.parameter_dtype.value_or(DType::float32);
    const double bytes = values * static_cast<double>(size_of(dtype));
    const double narrower = static_cast<double>(size_of(computed_in)) / static_cast<double>(size_of(dtype));
    const bool rounds = config.distributed.compression == config::Compression::bfloat16 && size_of(dtype) > 2;
    const auto shard = config.distributed.shard;
    const auto part_of = [&](bool divided) { return divided ? static_cast<double>(ranks) : 1.0; };
    RankMemory memory;
    memory.parameters = memory.gradients = rounded(bytes / part_of(shard == config::Sharding::full));
    memory.optimizer_state =
        rounded(values * 4.0 * state_numbers(config.optimizer.algorithm, config.optimizer.momentum) /
                part_of(shard != config::Sharding::none));
    memory.activations = rounded(activations * narrower);
    if (shard == config::Sharding::full)
        memory.gathered = gathered_bytes(units, static_cast<double>(size_of(dtype)), rounds);
    else if (rounds)
        memory.buckets = rounded(2.0 * values);
    return memory;
}

}  // namespace switchyard::scale
