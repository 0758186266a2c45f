#include <limits>

#include "core/kernel/base/input_error.h"
#include "core/kernel/base/json_text.h"
#include "core/kernel/resolver/measured.h"

namespace switchyard::resolver {
namespace {

using base::Json;
constexpr int format = 1;

double number_or_nan(const Json& entry, const char* key) {
    return base::needed(entry, key).is_null() ? std::numeric_limits<double>::quiet_NaN()
                                              : base::needed_number(entry, key);
}

MeasuredCandidate candidate_of(const Json& entry) {
    MeasuredCandidate candidate;
    candidate.name = base::needed_text(entry, "candidate");
    candidate.library = base::needed_text(entry, "library");
    candidate.options = base::needed(entry, "options").dump();
    candidate.ms = number_or_nan(entry, "ms");
    candidate.low = number_or_nan(entry, "low");
    candidate.high = number_or_nan(entry, "high");
    candidate.failure = base::needed_text(entry, "failure");
    if (candidate.failure.empty() && !(candidate.ms > 0.0)) throw base::InputError("a time is not above 0");
    return candidate;
}

}  // namespace

nlohmann::ordered_json to_json(const Measurement& measurement) {
    Json candidates = Json::array();
    for (const auto& candidate : measurement.candidates) {
        candidates.push_back({{"candidate", candidate.name},
                              {"library", candidate.library},
                              {"options", base::parse_json(candidate.options).value},
                              {"ms", base::number_or_null(candidate.ms)},
                              {"low", base::number_or_null(candidate.low)},
                              {"high", base::number_or_null(candidate.high)},
                              {"failure", candidate.failure}});
    }
    return {{"class", measurement.shape_class},
            {"host", measurement.host},
            {"date", measurement.date},
            {"sample", measurement.sample},
            {"candidates", candidates}};
}

std::string measurement_text(const Measurement& measurement) {
    Json json{{"switchyard_measurement", format}};
    json.update(to_json(measurement));
    return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

ReadMeasurement read_measurement(const std::string& text) {
    ReadMeasurement read;
    try {
        const auto parsed = base::parse_json(text);
        if (!parsed.fault.empty()) throw base::InputError(parsed.fault);
        const auto& json = parsed.value;
        const auto version = base::needed_integer(json, "switchyard_measurement");
        if (version != format)
            return {{},
                    "it is of version " + std::to_string(version) + ", this program reads version " +
                        std::to_string(format)};
        read.measurement.shape_class = base::needed_text(json, "class");
        read.measurement.host = base::needed_text(json, "host");
        read.measurement.date = base::needed_text(json, "date");
        if (json.contains("sample")) read.measurement.sample = base::needed_text(json, "sample");
        for (const auto& entry : base::needed_list(json, "candidates"))
            read.measurement.candidates.push_back(candidate_of(entry));
    } catch (const base::InputError& problem) {
        read.error = problem.what();
    }
    return read;
}

}  // namespace switchyard::resolver
