#include "core/workbench/profile/summarize.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <string>

#include "core/workbench/bench/measure/statistics.h"
#include "core/workbench/profile/attribution.h"

namespace switchyard::profile {
namespace {

class Lines {
public:
    Line& at(const std::string& name) {
        auto& line = lines_[name];
        line.name = name;
        return line;
    }
    // Means of so many steps, the longest first.
    std::vector<Line> list(double steps) {
        std::vector<Line> list;
        for (auto& [name, line] : lines_) {
            for (double* value :
                 {&line.ms, &line.forward_ms, &line.again_ms, &line.backward_ms, &line.calls,
                  &line.backward_calls, &line.cost.flops, &line.cost.read, &line.cost.written})
                *value /= steps;
            for (auto& [dtype, flops] : line.flops) flops /= steps;
            list.push_back(std::move(line));
        }
        std::ranges::stable_sort(list, std::greater<>(), &Line::ms);
        return list;
    }

private:
    std::map<std::string, Line> lines_;
};

void add_time(Line& line, Pass pass, double ms) {
    line.ms += ms;
    if (pass == Pass::forward) line.forward_ms += ms;
    if (pass == Pass::again) line.again_ms += ms;
    if (pass == Pass::backward) line.backward_ms += ms;
}

void add_cost(Line& line, const Cost& cost, DType dtype) {
    line.cost += cost;
    if (cost.flops > 0.0) line.flops[dtype] += cost.flops;
}

class Summary {
public:
    void add(const Recording& recording) {
        const auto owners = owners_of(recording);
        const auto own = own_milliseconds(recording);
        const auto by_contract = counted_costs(recording, owners, true);
        const auto by_operator = counted_costs(recording, owners, false);
        double whole = 0.0, gaps = 0.0;
        std::set<std::int32_t> gone_back;
        for (std::size_t i = 0; i < recording.events.size(); ++i) {
            const auto& event = recording.events[i];
            const auto& owner = owners[i];
            whole += own[i];
            if (!explains(event.kind)) {
                gaps += own[i];
                between_[std::string(name(owner.pass))] += own[i];
                continue;
            }
            auto& slot = slots_.at(std::string(owner.slot));
            auto& use = uses_.at(owner.use.empty() ? std::string(owner.slot) : owner.use);
            auto& layer = layers_.at(owner.layer);
            const auto dtype =
                owner.call >= 0 ? recording.events[static_cast<std::size_t>(owner.call)].dtype : event.dtype;
            for (auto* line : {&slot, &use, &layer}) {
                add_time(*line, owner.pass, own[i]);
                add_cost(*line, by_contract[i], dtype);
            }
            const bool back = owner.pass == Pass::backward;
            if (event.kind == EventKind::call && !back) {
                for (auto* line : {&slot, &use, &layer}) line->calls += 1.0;
            }
            if (back && owner.call >= 0 && gone_back.insert(owner.call).second) {
                for (auto* line : {&slot, &use, &layer}) line->backward_calls += 1.0;
            }
            auto& op = operators_.at(operator_name(recording, event));
            add_time(op, owner.pass, own[i]);
            op.calls += 1.0;
            add_cost(op, operator_cost(recording, event, owner, own[i], by_operator[i]), event.dtype);
            slots_of_[op.name][std::string(owner.slot)] += own[i];
        }
        whole_ += whole;
        const double explained = whole > 0.0 ? 1.0 - gaps / whole : 0.0;
        explained_ += explained;
        least_ = std::min(least_, explained);
        events_ += static_cast<double>(recording.events.size());
        steps_ += 1.0;
    }

    Profile profile(const Cost& optimizer) {
        Profile profile;
        const double steps = std::max(steps_, 1.0);
        profile.steps = static_cast<std::int64_t>(steps_);
        profile.step_ms = whole_ / steps;
        profile.explained = explained_ / steps;
        profile.least_explained = steps_ > 0.0 ? least_ : 0.0;
        profile.events = events_ / steps;
        for (const auto slot : profile::slots) slots_.at(std::string(slot));  // also those without any time
        profile.slots = slots_.list(steps);
        profile.uses = uses_.list(steps);
        profile.layers = layers_.list(steps);
        profile.operators = operators_.list(steps);
        for (auto& line : profile.operators) {
            const auto& of = slots_of_[line.name];
            line.slot = std::ranges::max_element(of, {}, [](const auto& one) { return one.second; })->first;
        }
        for (auto* lines : {&profile.slots, &profile.uses}) {
            for (auto& line : *lines) {
                if (line.name != "optimizer") continue;
                line.cost = optimizer;
                line.flops = {{DType::float32, optimizer.flops}};
            }
        }
        for (const auto& [pass, ms] : between_) profile.between.emplace_back(pass, ms / steps);
        std::ranges::stable_sort(profile.between, std::greater<>(), &std::pair<std::string, double>::second);
        return profile;
    }

private:
    static std::string operator_name(const Recording& recording, const Event& event) {
        const auto& name = recording.name_of(event);
        if (event.kind != EventKind::call) return name;
        return recording.names[static_cast<std::size_t>(event.component)] + " " + name;
    }

    // A component that computes by itself has its contract's; one that has operators do it leaves it to them.
    static Cost operator_cost(const Recording& recording, const Event& event, const Owner& owner, double own,
                              const Cost& counted) {
        if (event.kind != EventKind::call) return counted;
        if (own < 0.5 * event.milliseconds()) return {};
        const auto& name = recording.name_of(event);
        if (!name.ends_with(".backward")) return event.cost;
        return owner.call >= 0 ? recording.events[static_cast<std::size_t>(owner.call)].backward_cost
                               : Cost{};
    }

    Lines slots_, uses_, layers_, operators_;
    std::map<std::string, std::map<std::string, double>> slots_of_;  // of operators: time by slot
    std::map<std::string, double> between_;
    double whole_ = 0.0, explained_ = 0.0, least_ = 1.0, events_ = 0.0, steps_ = 0.0;
};

}  // namespace

double Profile::between_ms() const {
    double sum = 0.0;
    for (const auto& [pass, ms] : between) sum += ms;
    return sum;
}

RoofShares shares_of(const Line& line, const Roofs& roofs) {
    RoofShares shares;
    const double seconds = line.ms * 1e-3;
    if (seconds <= 0.0) return shares;
    for (const auto& [dtype, flops] : line.flops) {
        const auto roof = roofs.products.find(dtype);
        if (roof != roofs.products.end() && roof->second > 0.0)
            shares.products += flops / roof->second / seconds;
    }
    if (roofs.read > 0.0) shares.read = line.cost.read / roofs.read / seconds;
    if (roofs.copy > 0.0) shares.copy = (line.cost.read + line.cost.written) / roofs.copy / seconds;
    return shares;
}

Profile summarize(const std::vector<Recording>& steps, const std::vector<std::pair<double, double>>& pairs,
                  const Cost& optimizer) {
    Summary summary;
    for (const auto& step : steps) summary.add(step);
    auto profile = summary.profile(optimizer);
    std::vector<double> ratios;
    for (const auto& [observed, plain] : pairs) ratios.push_back(observed / plain - 1.0);
    profile.overhead = bench::median_interval(ratios);
    profile.pairs = static_cast<int>(ratios.size());
    return profile;
}

}  // namespace switchyard::profile
