#include "core/workbench/train/shadow/shadow_lines.h"

#include <algorithm>

namespace switchyard::train {
namespace {

template <class T>
void append(std::vector<T>& all, const std::vector<T>& later) {
    all.insert(all.end(), later.begin(), later.end());
}

}  // namespace

void CallDrifts::add(const Drift& drift, std::int64_t of_step, const std::string& of_layer) {
    add(CallDrifts{{drift.mean}, drift.largest, of_step, of_layer, drift.tensor});
}

void CallDrifts::add(const CallDrifts& later) {
    const bool first = means.empty() && !later.means.empty();
    append(means, later.means);
    if (!first && later.largest <= largest) return;
    largest = later.largest;
    step = later.step;
    layer = later.layer;
    tensor = later.tensor;
}

void ShadowFaults::add(const std::string& text, std::int64_t of_step, const std::string& of_layer) {
    add(ShadowFaults{1, text, of_step, of_layer});
}

void ShadowFaults::add(const ShadowFaults& later) {
    if (calls == 0) {
        *this = later;
        return;
    }
    calls += later.calls;
}

std::vector<double> ShadowLine::ratios() const {
    std::vector<double> all;
    for (std::size_t i = 0; i < trusted_ms.size(); ++i)
        if (trusted_ms[i] > 0.0) all.push_back(candidate_ms[i] / trusted_ms[i]);
    return all;
}

void ShadowLine::add(const ShadowLine& later) {
    steps += later.steps;
    calls += later.calls;
    faults.add(later.faults);
    outputs.add(later.outputs);
    gradients.add(later.gradients);
    append(trusted_ms, later.trusted_ms);
    append(candidate_ms, later.candidate_ms);
}

void add_lines(ShadowLines& all, const ShadowLines& later) {
    for (const auto& line : later) {
        const auto same = std::find_if(all.begin(), all.end(), [&](const ShadowLine& known) {
            return known.slot == line.slot && known.layers == line.layers;
        });
        if (same == all.end())
            all.push_back(line);
        else
            same->add(line);
    }
}

}  // namespace switchyard::train
