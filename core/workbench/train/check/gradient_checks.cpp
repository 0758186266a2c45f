#include "core/kernel/base/joined.h"
#include "core/workbench/model/low_rank.h"
#include "core/workbench/train/check/diagnosis.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <sstream>

namespace switchyard::train {
namespace {

// "encoder.3" of "encoder.3.attention.q.weight"; other parameters by their first word.
std::string part_of(const std::string& name) {
    const auto first = name.find('.');
    const auto second = name.find('.', first + 1);
    const bool layer = name.starts_with("encoder.") || name.starts_with("decoder.");
    return name.substr(0, layer ? second : first);
}

// What an adapter's A gets is multiplied by B, which begins at zero.
bool waits_for_b(const model::Parameters& parameters, const std::string& name) {
    const auto layer = name.substr(0, std::min(name.size(), name.rfind(".lora_a.")));
    const auto* const b = parameters.find(model::low_rank_b(layer));
    return b != nullptr && name == model::low_rank_a(layer) && !b->value.ne(0).any().item<bool>();
}

// Of the gradients of a part.
struct Sizes {
    double squares = 0.0;
    std::int64_t count = 0;
    double rms(double scale) const {
        return std::sqrt(squares / static_cast<double>(std::max<std::int64_t>(1, count))) / scale;
    }
};
using PartSizes = std::map<std::string, Sizes>;

void make_gradients(CheckBench& bench) {
    bench.session.parameters().zero_gradients();
    std::vector<Batch> one{bench.batches.front()};
    bench.trainer.accumulate(one);
}

PartSizes measured_gradients(CheckBench& bench) {
    make_gradients(bench);
    PartSizes parts;
    for (const auto& parameter : bench.session.parameters().all()) {
        const auto& gradient = parameter.value.grad();
        if (!gradient.defined()) continue;
        auto& sizes = parts[part_of(parameter.name)];
        sizes.squares += gradient.to(at::kDouble).square().sum().item<double>();
        sizes.count += gradient.numel();
    }
    bench.session.parameters().zero_gradients();
    return parts;
}

bool all_finite(const PartSizes& parts) {
    return std::ranges::all_of(parts, [](const auto& part) { return std::isfinite(part.second.squares); });
}

// The root mean square of each part's gradient, without the loss scale. Where that makes them overflow it is
// lowered as in training, which skips such steps; afterwards it is what it was.
std::map<std::string, double> gradient_sizes(CheckBench& bench) {
    constexpr int most_tries = 100;
    const auto& precision = bench.session.plan().precision();
    const auto before = precision.state();
    double scale = precision.loss_scale();
    auto parts = measured_gradients(bench);
    bool lowered = false;
    for (int tries = 1; tries < most_tries && scale > 1.0 && !all_finite(parts); ++tries) {
        precision.update(true);
        lowered = true;
        const double next = precision.loss_scale();
        if (!(next < scale)) break;
        scale = next;
        parts = measured_gradients(bench);
    }
    if (lowered) precision.load(before);
    std::map<std::string, double> all;
    for (const auto& [part, sizes] : parts) all.emplace(part, sizes.rms(scale));
    return all;
}

}  // namespace

Diagnosis check_gradients(CheckBench& bench) {
    Diagnosis result{"gradients neither vanish nor explode", Health::good, "", ""};
    std::pair<std::string, double> smallest{"", INFINITY}, largest{"", 0.0};
    for (const auto& [part, rms] : gradient_sizes(bench)) {
        if (!std::isfinite(rms)) {
            return {result.name, Health::bad, "the gradient of " + part + " is not finite",
                    "try precision.backend = \"fp32\" and a smaller optimizer.lr"};
        }
        const bool layer = part.starts_with("encoder.") || part.starts_with("decoder.");
        if (layer && rms < smallest.second) smallest = {part, rms};
        if (layer && rms > largest.second) largest = {part, rms};
    }
    if (smallest.first.empty()) return {result.name, Health::skipped, "no layer is trained", ""};
    std::ostringstream text;
    text << "root mean square from " << smallest.second << " (" << smallest.first << ") to " << largest.second
         << " (" << largest.first << ")";
    result.finding = text.str();
    const double spread = largest.second / std::max(smallest.second, 1e-300);
    if (spread > 1e6) {
        result.health = Health::bad;
        result.advice =
            "over six decades lie between the layers: try model.norm_position = \"pre\", or a longer "
            "train.warmup_ratio";
    } else if (spread > 1e3) {
        result.health = Health::unclear;
        result.advice =
            "over three decades lie between the layers: deep post-norm stacks want a long train.warmup_ratio";
    }
    return result;
}

Diagnosis check_all_parameters(CheckBench& bench) {
    Diagnosis result{"every parameter that is trained gets a gradient", Health::good, "", ""};
    make_gradients(bench);
    std::string without;
    std::int64_t count = 0, trained = 0;
    for (const auto& parameter : bench.session.parameters().all()) {
        if (!parameter.value.requires_grad()) continue;
        ++trained;
        const auto& gradient = parameter.value.grad();
        if (gradient.defined() && gradient.ne(0).any().item<bool>()) continue;
        // Adding one number to all of a query's scores changes nothing, so a key's bias has no gradient but
        // rounding.
        if (parameter.name.ends_with(".k.bias") || waits_for_b(bench.session.parameters(), parameter.name))
            continue;
        if (++count <= 5) base::add_item(without, parameter.name);
    }
    result.finding = std::to_string(trained) + " tensors";
    if (count > 0) {
        result.health = Health::bad;
        result.finding =
            std::to_string(count) + " tensors have none: " + without + (count > 5 ? ", ..." : "");
        result.advice =
            "they are not part of what the task computes: check task.kind, or that a backend's backward "
            "returns all gradients";
    }
    bench.session.parameters().zero_gradients();
    return result;
}

}  // namespace switchyard::train
