#include <algorithm>
#include <limits>

#include <nlohmann/json.hpp>

#include "core/workbench/profile/attribution.h"
#include "core/workbench/profile/profile_report.h"

namespace switchyard::profile {
namespace {

using Json = nlohmann::ordered_json;

std::string_view category(EventKind kind) {
    constexpr std::string_view names[] = {"step", "part", "place", "component", "backward", "operator"};
    return names[static_cast<std::size_t>(kind)];
}

// Microseconds, as the format has it; the digits behind the point are nanoseconds.
double microseconds(std::int64_t nanoseconds) { return static_cast<double>(nanoseconds) * 1e-3; }

class Trace {
public:
    explicit Trace(std::int64_t begin) : begin_(begin) {
        text_ = "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n";
        write({{"name", "process_name"}, {"ph", "M"}, {"pid", 1}, {"args", {{"name", "switchyard profile"}}}});
    }

    void add(const Recording& recording) {
        const auto owners = owners_of(recording);
        for (std::size_t i = 0; i < recording.events.size(); ++i) add(recording, recording.events[i], owners[i]);
    }

    void add(const MemoryProfile& memory, std::int64_t from) {
        for (const auto& point : memory.line) {
            Json bytes;
            for (std::size_t i = 0; i < memory_classes; ++i)
                bytes[std::string(memory_class_names[i])] = point.parts[i];
            write({{"name", "live bytes"},
                   {"ph", "C"},
                   {"pid", 1},
                   {"ts", microseconds(from - begin_) + point.ms * 1e3},
                   {"args", std::move(bytes)}});
        }
    }

    std::string text() && { return std::move(text_) + "\n]}\n"; }

private:
    void add(const Recording& recording, const Event& event, const Owner& owner) {
        Json arguments{{"slot", std::string(owner.slot)}, {"pass", std::string(name(owner.pass))}};
        if (!owner.layer.empty()) arguments["layer"] = owner.layer;
        if (event.component >= 0)
            arguments["component"] = recording.names[static_cast<std::size_t>(event.component)];
        if (event.cost.flops > 0.0) arguments["flops"] = event.cost.flops;
        if (event.cost.read > 0.0) arguments["read_bytes"] = event.cost.read;
        if (event.cost.written > 0.0) arguments["written_bytes"] = event.cost.written;
        write({{"name", recording.name_of(event)},
               {"cat", std::string(category(event.kind))},
               {"ph", "X"},
               {"pid", 1},
               {"tid", 1},
               {"ts", microseconds(event.begin - begin_)},
               {"dur", microseconds(event.end - event.begin)},
               {"args", std::move(arguments)}});
    }

    void write(const Json& event) {
        if (!first_) text_ += ",\n";
        first_ = false;
        text_ += event.dump(-1, ' ', false, Json::error_handler_t::replace);
    }

    std::int64_t begin_;
    bool first_ = true;
    std::string text_;
};

}  // namespace

std::string chrome_trace(const std::vector<Recording>& steps, const Recording& memory_step,
                         const MemoryProfile& memory) {
    auto begin = std::numeric_limits<std::int64_t>::max();
    for (const auto& step : steps) {
        if (!step.events.empty()) begin = std::min(begin, step.events.front().begin);
    }
    if (!memory_step.events.empty()) begin = std::min(begin, memory_step.events.front().begin);
    Trace trace(begin);
    for (const auto& step : steps) trace.add(step);
    trace.add(memory_step);
    if (!memory_step.events.empty()) trace.add(memory, memory_step.events.front().begin);
    return std::move(trace).text();
}

}  // namespace switchyard::profile
