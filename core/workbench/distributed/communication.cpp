#include "core/workbench/distributed/communication.h"

#include <algorithm>
#include <utility>

namespace switchyard::distributed {
namespace {

constexpr std::size_t kept_traces = 63;

}  // namespace

double BackwardTrace::all_seconds() const {
    double end = backward_seconds;
    for (const auto& sum : sums) end = std::max(end, sum.end_seconds);
    return end;
}

Overlap overlap_of(const BackwardTrace& trace) {
    std::vector<std::pair<double, double>> spans;
    for (const auto& sum : trace.sums) spans.emplace_back(sum.begin_seconds, sum.end_seconds);
    std::ranges::sort(spans);
    Overlap overlap;
    double counted = 0.0;  // everything before it is
    for (const auto& [begin, end] : spans) {
        const double from = std::max(begin, counted);
        if (end <= from) continue;
        overlap.seconds += end - from;
        overlap.hidden_seconds += std::max(0.0, std::min(end, trace.backward_seconds) - from);
        counted = end;
    }
    return overlap;
}

void CommunicationRecord::add(const BackwardTrace& trace) {
    if (++seen_ == 2) {
        all_ = {};
        last_.clear();
    }
    const auto overlap = overlap_of(trace);
    ++all_.steps;
    all_.seconds += overlap.seconds;
    all_.hidden_seconds += overlap.hidden_seconds;
    all_.backward_seconds += trace.backward_seconds;
    last_.push_back(trace);
    if (last_.size() > kept_traces) last_.pop_front();
}

std::optional<Communication> CommunicationRecord::so_far() const {
    if (last_.empty()) return std::nullopt;
    auto told = all_;
    std::vector<const BackwardTrace*> traces;
    for (const auto& trace : last_) traces.push_back(&trace);
    const auto middle = traces.begin() + static_cast<std::ptrdiff_t>((traces.size() - 1) / 2);
    std::ranges::nth_element(traces, middle, {}, [](const auto* trace) { return trace->all_seconds(); });
    told.typical = **middle;
    return told;
}

}  // namespace switchyard::distributed
