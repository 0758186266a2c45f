// What `auto` chooses by where it is measured: classes of requests, and the rule over their measurements.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "core/kernel/resolver/measurement.h"
#include "core/kernel/resolver/resolver.h"

namespace switchyard::resolver {

// Requests for which the same candidate is the fastest, in words: dtypes, masks, head_dim, widths, in and out
// as they are, dropout and the like as on or off, batch, heads, rows and lengths (the largest of a range)
// rounded up to a power of two.
// "attention float32 cpu padded train, needs_grad, batch 32, heads 16, head groups of 1, q_length 512, ..."
std::string shape_class(Kind kind, const Request& request);

// Why requests of that form are not measured at all; empty: they are.
std::string not_measured_because(Kind kind, const Request& request);

// A candidate for a use as it is written down: name, library, options; no time yet.
MeasuredCandidate identity(const Candidate& candidate, const config::SlotConfig& config);

// What is timed, in words: the class, and names and options of the candidates, in whatever order, of whatever
// build.
std::string subject(const std::string& shape_class, const std::vector<MeasuredCandidate>& candidates);

// Adds a measurement to the list, instead of an earlier one of the same subject on the same host.
void take_up(std::vector<Measurement>& list, Measurement measurement);

// Does the measurement have each of these candidates, as they are now?
bool covers(const Measurement& measurement, const SlotUse& use,
            const std::vector<const Candidate*>& conformant);

// What the plan says of a use that could be measured and is not.
inline constexpr std::string_view unmeasured = "not measured on this host";

// The fastest; of those within `noise` of it, or whose interval overlaps with its, the highest priority.
// Without a measurement of the use's class on `host` that covers all candidates: by priority, and why. Times
// of other hosts or libraries count nothing.
struct MeasuredChoice {
    std::vector<Measurement> measurements;
    std::string host;
    double noise = 0.03;

    Choice operator()(const SlotUse& use, const std::vector<const Candidate*>& conformant) const;
    // Of several that hold the one that has the fewest others beside these candidates, and of those the
    // latest. nullptr: none that holds.
    const Measurement* find(const SlotUse& use, const std::vector<const Candidate*>& conformant) const;
};

// "auto: by priority (WHY)"
Chooser by_rank_because(std::string why);

nlohmann::ordered_json to_json(const Measurement& measurement);

// One measurement as the text of a file (JSON), and back. A text that is none gives `error`.
std::string measurement_text(const Measurement& measurement);
struct ReadMeasurement {
    Measurement measurement;
    std::string error;
};
ReadMeasurement read_measurement(const std::string& text);

}  // namespace switchyard::resolver
