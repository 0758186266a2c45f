#include <stdexcept>

#include <nlohmann/json.hpp>

#include <switchyard/resolver/measured.h>

namespace switchyard::resolver {
namespace {

using Json = nlohmann::ordered_json;
constexpr int format = 1;

Json number(double value) { return value == value ? Json(value) : Json(nullptr); }

double number_of(const Json& entry, const char* key) {
    const auto& value = entry.at(key);
    return value.is_null() ? std::numeric_limits<double>::quiet_NaN() : value.get<double>();
}

MeasuredCandidate candidate_of(const Json& entry) {
    MeasuredCandidate candidate;
    candidate.name = entry.at("candidate").get<std::string>();
    candidate.library = entry.at("library").get<std::string>();
    candidate.options = entry.at("options").dump();
    candidate.ms = number_of(entry, "ms");
    candidate.low = number_of(entry, "low");
    candidate.high = number_of(entry, "high");
    candidate.failure = entry.at("failure").get<std::string>();
    if (candidate.failure.empty() && !(candidate.ms > 0.0)) throw std::invalid_argument("a time is no time");
    return candidate;
}

}  // namespace

nlohmann::ordered_json to_json(const Measurement& measurement) {
    Json candidates = Json::array();
    for (const auto& candidate : measurement.candidates) {
        candidates.push_back({{"candidate", candidate.name},
                              {"library", candidate.library},
                              {"options", Json::parse(candidate.options)},
                              {"ms", number(candidate.ms)},
                              {"low", number(candidate.low)},
                              {"high", number(candidate.high)},
                              {"failure", candidate.failure}});
    }
    return {{"class", measurement.shape_class},
            {"host", measurement.host},
            {"date", measurement.date},
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
        const auto json = Json::parse(text);
        const auto version = json.at("switchyard_measurement").get<int>();
        if (version != format)
            return {{}, "it is of version " + std::to_string(version) + ", this program reads version " +
                            std::to_string(format)};
        read.measurement.shape_class = json.at("class").get<std::string>();
        read.measurement.host = json.at("host").get<std::string>();
        read.measurement.date = json.at("date").get<std::string>();
        for (const auto& entry : json.at("candidates"))
            read.measurement.candidates.push_back(candidate_of(entry));
    } catch (const std::exception& problem) {
        read.error = problem.what();
    }
    return read;
}

}  // namespace switchyard::resolver
