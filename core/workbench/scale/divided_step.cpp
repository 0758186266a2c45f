#include "core/workbench/scale/divided_step.h"

#include <algorithm>
#include <functional>
#include <numeric>

namespace switchyard::scale {
namespace {

class Step {
public:
    Step(const DividedCosts& costs, std::int64_t ranks, const Collectives& collectives, double wire_share)
        : costs_(costs), ranks_(ranks), collectives_(collectives), wire_share_(wire_share) {
        Flops all;
        for (const auto& unit : costs.units) all += unit.flops;
        const double micro = costs.products_ms / static_cast<double>(costs.accumulated);
        const double ms = all.all() > 0.0 ? micro / all.all() : 0.0;  // of an operation
        for (const auto& unit : costs.units) {
            forward_.push_back(ms * unit.flops.forward);
            backward_.push_back(ms * unit.flops.backward);
        }
    }

    StepTimeline simulate() {
        const auto layers = costs_.units.size() - 1;
        line_.ranks = ranks_;
        wait(gathered(layers));
        for (std::int64_t i = 0; i < costs_.accumulated; ++i) {
            line_.buckets.clear();
            forward(layers);
            line_.forward_end_ms = now_;
            backward(layers);
        }
        line_.backward_end_ms = now_;
        sum(layers);
        line_.exposed_ms = std::max(0.0, summed_ - line_.backward_end_ms);
        line_.step_ms =
            line_.backward_end_ms + line_.exposed_ms + costs_.optimizer_ms / static_cast<double>(ranks_);
        line_.waits_ms = costs_.waits_ms;
        line_.efficiency = (costs_.products_ms + costs_.optimizer_ms - costs_.waits_ms) / line_.step_ms;
        return line_;
    }

private:
    double bytes(std::int64_t values) const { return static_cast<double>(values * costs_.value_bytes); }
    // When it is there that is asked for now.
    double gathered(std::size_t unit) {
        link_ = std::max(link_, now_) + all_gather_ms(bytes(costs_.units[unit].values), ranks_, collectives_);
        return link_;
    }
    void wait(double arrival) {
        line_.gather_ms += std::max(0.0, arrival - now_);
        now_ = std::max(now_, arrival);
    }
    void forward(std::size_t layers) {
        double arrival = gathered(0);
        for (std::size_t i = 0; i < layers; ++i) {
            wait(arrival);
            if (i + 1 < layers) arrival = gathered(i + 1);
            now_ += forward_[i];
        }
        now_ += forward_[layers];
    }
    // The last layer is still there, and the sum of one is on its way at most.
    void backward(std::size_t layers) {
        now_ += backward_[layers];
        double arrival = now_;
        for (std::size_t i = layers; i-- > 0;) {
            wait(arrival);
            if (i > 0) arrival = gathered(i - 1);
            now_ += backward_[i];
            now_ = std::max(now_, summed_);
            sum(i);
        }
    }
    // As long as a gather: each half of a ring's sum. Of a unit that is frozen there is none.
    void sum(std::size_t unit) {
        const double size = bytes(costs_.units[unit].trained);
        if (size == 0.0) return;
        BucketTimes times;
        times.bucket.bytes = static_cast<std::int64_t>(size);
        times.bucket.parameters = costs_.units[unit].parameters;
        times.full_ms = now_;
        times.begin_ms = std::max(link_, now_);
        const double lasts = all_gather_ms(size * wire_share_, ranks_, collectives_);
        summed_ = link_ = times.end_ms = times.begin_ms + lasts;
        line_.communication_ms += lasts;
        line_.buckets.push_back(times);
    }

    const DividedCosts& costs_;
    std::int64_t ranks_;
    const Collectives& collectives_;
    double wire_share_;
    std::vector<double> forward_, backward_;  // of each unit
    StepTimeline line_;
    double now_ = 0.0, link_ = 0.0, summed_ = 0.0;
};

}  // namespace

std::int64_t values_of(const model::DescribedParameter& parameter) {
    return std::accumulate(parameter.sizes.begin(), parameter.sizes.end(), std::int64_t{1},
                           std::multiplies<>());
}

std::vector<DividedUnit> divided_units(const config::Config& config,
                                       const std::vector<model::DescribedParameter>& parameters,
                                       const std::vector<Flops>& flops, const Trained& trained) {
    std::vector<DividedUnit> units;
    std::vector<std::string> prefixes;
    for (const auto stack : {config::Stack::encoder, config::Stack::decoder})
        for (std::int64_t i = 0; config.model.has(stack) && i < config.model.layers_of(stack); ++i)
            prefixes.push_back(config::to_string(config::LayerId{stack, i}) + ".");
    units.resize(prefixes.size() + 1);
    for (std::size_t i = 0; i < parameters.size(); ++i) {
        const auto is_in = [&](const std::string& prefix) { return parameters[i].name.starts_with(prefix); };
        const auto found =
            parameters[i].sizes.size() < 2 ? prefixes.end() : std::ranges::find_if(prefixes, is_in);
        auto& unit = units[static_cast<std::size_t>(found - prefixes.begin())];
        unit.values += values_of(parameters[i]);
        unit.flops += flops[i];
        if (!is_trained(trained, parameters[i].name)) continue;
        unit.trained += values_of(parameters[i]);
        ++unit.parameters;
    }
    return units;
}

StepTimeline simulate_divided_step(const DividedCosts& costs, std::int64_t ranks,
                                   const Collectives& collectives, double wire_share) {
    return Step(costs, ranks, collectives, wire_share).simulate();
}

Sent sent_in_divided_step(const DividedCosts& costs, std::int64_t ranks, double wire_share) {
    const auto layers = costs.units.size() - 1;
    const auto bytes = [&](std::int64_t values) { return static_cast<double>(values * costs.value_bytes); };
    double gathered = 0.0, summed = 0.0;  // of layers, in a micro-batch
    std::int64_t gathers = 0, sums = 0;
    for (std::size_t i = 0; i < layers; ++i) {
        const auto& unit = costs.units[i];
        const std::int64_t times = i + 1 < layers ? 2 : 1;  // what the last layer has stays for its backward
        gathers += times;
        gathered += static_cast<double>(times) * bytes(unit.values);
        if (unit.trained > 0) ++sums;
        summed += bytes(unit.trained) * wire_share;
    }
    const auto& root = costs.units.back();
    const auto others = ranks - 1;
    return {others * (costs.accumulated * (gathers + sums) + (root.trained > 0 ? 2 : 1)),
            static_cast<double>(others) / static_cast<double>(ranks) *
                (static_cast<double>(costs.accumulated) * (gathered + summed) + bytes(root.values) +
                 bytes(root.trained) * wire_share)};
}

}  // namespace switchyard::scale
