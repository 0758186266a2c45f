#include "core/workbench/scale/rank_memory.h"

#include <algorithm>

#include "core/kernel/base/input_error.h"
#include "core/kernel/config/trainable.h"

namespace switchyard::scale {
namespace {

// What is beyond 2^52, 4.5 PB, counts as that much, so that sums and multiples of it are numbers.
std::int64_t rounded(double bytes) { return static_cast<std::int64_t>(std::min(bytes + 0.5, 0x1p52)); }

// Of layers that backward runs again their input is kept, and all of the one that is being run.
double activations_of(const config::Config& config, const model::ModelPart& part) {
    const double all = part.activation_bytes;
    const auto label = part.name.substr(part.name.rfind(' ') + 1);  // "decoder.0-3 attention"
    if (!runs_again(config.train.recompute, label)) return all;
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
    const double leaving = rounds ? 2.0 : value_bytes;
    double largest = 0.0;
    for (std::size_t i = 0; i + 1 < units.size(); ++i)
        largest = std::max(largest, 2.0 * value_bytes * static_cast<double>(units[i].values) +
                                        (value_bytes + leaving) * static_cast<double>(units[i].trained));
    return rounded(static_cast<double>(units.back().values + units.back().trained) * value_bytes + largest);
}

}  // namespace

double state_numbers(OptimizerKind algorithm, double momentum, bool matrix) {
    switch (algorithm) {
        case OptimizerKind::muon:
            return matrix ? 1.0 : 2.0;  // what is no matrix it steps as AdamW does
        case OptimizerKind::adamw:
        case OptimizerKind::adam:
        case OptimizerKind::lamb:
            return 2.0;
        case OptimizerKind::lion:
            return 1.0;
        case OptimizerKind::sgd:
            return momentum > 0.0 ? 1.0 : 0.0;
        case OptimizerKind::custom:
            break;
    }
    return 0.0;
}

RankMemory memory_of_rank(const config::Config& config, const std::vector<model::ModelPart>& parts,
                          const std::vector<model::DescribedParameter>& parameters, const Trained& trained,
                          DType computed_in, std::int64_t ranks) {
    if (config.optimizer.algorithm == OptimizerKind::custom)
        throw base::InputError(config::told_at(config, "optimizer.algorithm") + "how much state " +
                               config.optimizer.algorithm_name() +
                               " keeps is not known before it runs; expected adamw, adam, sgd, lion, lamb or "
                               "muon, whichever keeps most like it");
    double values = 0.0, learning = 0.0, state = 0.0, activations = 0.0;
    for (const auto& part : parts) activations += activations_of(config, part);
    for (const auto& parameter : parameters) {
        const auto count = static_cast<double>(values_of(parameter));
        values += count;
        if (!is_trained(trained, parameter.name)) continue;
        learning += count;
        state += count * state_numbers(config.optimizer.algorithm, config.optimizer.momentum,
                                       parameter.sizes.size() >= 2);
    }
    const auto dtype = config.precision.parameter_dtype.value_or(DType::float32);
    const auto value_bytes = static_cast<double>(size_of(dtype));
    if (size_of(dtype) < size_of(DType::float32)) state += learning;  // masters
    const double narrower = static_cast<double>(size_of(computed_in)) / static_cast<double>(size_of(dtype));
    const bool rounds = config.distributed.compression == config::Compression::bfloat16 && size_of(dtype) > 2;
    const auto shard = config.distributed.shard;
    const auto part_of = [&](bool divided) { return divided ? static_cast<double>(ranks) : 1.0; };
    RankMemory memory;
    memory.parameters = rounded(values * value_bytes / part_of(shard == config::Sharding::full));
    memory.gradients = rounded(learning * value_bytes / part_of(shard == config::Sharding::full));
    memory.optimizer_state = rounded(4.0 * state / part_of(shard != config::Sharding::none));
    if (config.train.ema > 0.0) memory.optimizer_state += rounded(4.0 * learning);  // whole on each rank
    memory.activations = rounded(activations * narrower);
    if (shard == config::Sharding::full) {
        const std::vector<Flops> no_flops(parameters.size());
        memory.gathered =
            gathered_bytes(divided_units(config, parameters, no_flops, trained), value_bytes, rounds);
    } else if (rounds) {
        memory.buckets = rounded(2.0 * learning);
    }
    return memory;
}

}  // namespace switchyard::scale
