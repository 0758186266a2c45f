#include "core/workbench/compare/arms/arm_message.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>

#include "core/kernel/base/json_text.h"
#include "core/kernel/base/printable.h"

namespace switchyard::compare {
namespace {

using base::Json;

// A message that does not follow the protocol; becomes a ProtocolError.
struct InvalidMessage : std::runtime_error {
    using std::runtime_error::runtime_error;
};

const Json& member(const Json& object, const char* key) {
    const auto found = object.find(key);
    if (found == object.end()) throw InvalidMessage(std::string("has no \"") + key + "\"");
    return *found;
}

// A count that has to be there, or may say -1: not known.
std::int64_t count(const Json& object, const char* key, bool required) {
    if (!required && base::member(object, key).is_null()) return -1;
    const Json& value = member(object, key);
    if (!value.is_number_integer())
        throw InvalidMessage(std::string("\"") + key + "\" is not a whole number");
    const auto number = base::integer_of(value);
    if (!number || *number < (required ? 0 : -1) || *number > base::limits::arm_count)
        throw InvalidMessage(std::string("\"") + key + "\" has a value that is not a count");
    return *number;
}

double number(const Json& value, const char* key) {
    if (value.is_null()) return std::numeric_limits<double>::quiet_NaN();
    if (!value.is_number()) throw InvalidMessage(std::string("\"") + key + "\" is not a number");
    return value.get<double>();
}

std::string text(const Json& object, const char* key) {
    if (!object.contains(key) || object[key].is_null()) return "";
    if (!object[key].is_string()) throw InvalidMessage(std::string("\"") + key + "\" is not a string");
    return object[key].get<std::string>();
}

std::vector<double> numbers(const Json& object, const char* key, std::int64_t steps) {
    const Json& list = member(object, key);
    if (!list.is_array() || static_cast<std::int64_t>(list.size()) != steps)
        throw InvalidMessage(std::string("\"") + key + "\" is not a list of " + std::to_string(steps) +
                             " numbers, one for each step");
    std::vector<double> values;
    for (const auto& value : list) values.push_back(number(value, key));
    return values;
}

std::vector<std::int64_t> counts(const Json& object, const char* key, std::int64_t steps) {
    if (!object.contains(key) || (object[key].is_array() && object[key].empty())) return {};
    std::vector<std::int64_t> values;
    for (const double value : numbers(object, key, steps)) {
        if (!(value >= 0.0) || value != std::floor(value) ||
            value > static_cast<double>(base::limits::arm_count))
            throw InvalidMessage(std::string("\"") + key + "\" has a value that is not a count");
        values.push_back(static_cast<std::int64_t>(value));
    }
    return values;
}

void check_sum(const char* key, const std::vector<std::int64_t>& each, std::int64_t all) {
    if (!each.empty() && std::accumulate(each.begin(), each.end(), 0.0) != static_cast<double>(all))
        throw InvalidMessage(std::string("\"") + key + "\" are not " + std::to_string(all) + " together");
}

// The object of a report; an error of the arm comes out by `error`.
Json report_of(const std::string& line, std::optional<ArmError>& error) {
    if (line.find_first_of("{[") != line.find_first_not_of(" \t")) throw InvalidMessage("is not JSON");
    auto parsed = base::parse_json(line);
    if (!parsed.fault.empty()) throw InvalidMessage("is " + parsed.fault);
    const Json object = std::move(parsed.value);
    if (!object.is_object()) throw InvalidMessage("is not a JSON object");
    const auto type = text(object, "type");
    if (type == "error") error = ArmError{text(object, "text")};
    if (type != "report" && type != "error") throw InvalidMessage("is neither \"report\" nor \"error\"");
    return object;
}

template <class Answer, class Read>
Answer answer(const std::string& line, Read&& read) {
    try {
        std::optional<ArmError> error;
        const Json object = report_of(line, error);
        if (error) return *error;
        return read(object);
    } catch (const InvalidMessage& invalid) {
        return ProtocolError{std::string("its line ") + invalid.what() + ": '" + base::quoted(line) + "'"};
    }
}

}  // namespace

ReadyAnswer read_ready(const std::string& line) {
    return answer<ReadyAnswer>(line, [](const Json& object) {
        Ready ready;
        if (const auto operation = text(object, "operation"); !operation.empty()) {
            const auto known = parse<Operation>(operation);
            if (!known) throw InvalidMessage("has an \"operation\" that was not asked for");
            ready.operation = *known;
        }
        ready.description = text(object, "description");
        ready.dtype = text(object, "dtype");
        ready.loss = number(member(object, "loss"), "loss");
        if (object.contains("first_step_written")) {
            if (!object["first_step_written"].is_boolean())
                throw InvalidMessage("\"first_step_written\" is neither true nor false");
            ready.first_step_written = object["first_step_written"].get<bool>();
        }
        if (object.contains("amplification") && object["amplification"].is_object()) {
            const Json& by = object["amplification"];
            ready.amplification =
                Drift{number(member(by, "loss"), "loss"), number(member(by, "output"), "output"),
                      number(member(by, "gradient"), "gradient")};
        }
        return ready;
    });
}

TurnAnswer read_turn(const std::string& line, std::int64_t steps) {
    return answer<TurnAnswer>(line, [steps](const Json& object) {
        Turn turn;
        turn.step_ms = numbers(object, "step_ms", steps);
        for (const double ms : turn.step_ms) {
            if (!std::isfinite(ms) || ms < 0.0)
                throw InvalidMessage("\"step_ms\" has a value that is not a time");
        }
        turn.loss = numbers(object, "loss", steps);
        turn.skipped = std::max<std::int64_t>(0, count(object, "skipped", false));
        turn.step_samples = counts(object, "step_samples", steps);
        turn.step_tokens = counts(object, "step_tokens", steps);
        turn.step_skipped = counts(object, "step_skipped", steps);
        turn.samples = count(object, "samples", true);
        turn.tokens = count(object, "tokens", true);
        if (turn.samples == 0) throw InvalidMessage("counts no samples");
        check_sum("step_samples", turn.step_samples, turn.samples);
        check_sum("step_tokens", turn.step_tokens, turn.tokens);
        turn.peak_memory_bytes = count(object, "peak_memory_bytes", false);
        turn.involuntary_switches = count(object, "involuntary_switches", false);
        turn.executed = object.contains("executed") && object["executed"].is_object() ? object["executed"]
                                                                                      : Json::object();
        return turn;
    });
}

Json to_message(const Ready& ready) {
    Json json{{"type", "report"},
              {"operation", name(ready.operation)},
              {"description", ready.description},
              {"dtype", ready.dtype},
              {"loss", base::number_or_null(ready.loss)},
              {"first_step_written", ready.first_step_written}};
    if (ready.amplification) {
        json["amplification"] = {{"loss", base::number_or_null(ready.amplification->loss)},
                                 {"output", base::number_or_null(ready.amplification->output)},
                                 {"gradient", base::number_or_null(ready.amplification->gradient)}};
    }
    return json;
}

Json to_message(const Turn& turn) {
    Json loss = Json::array();
    for (const double value : turn.loss) loss.push_back(base::number_or_null(value));
    return {{"type", "report"},
            {"step_ms", turn.step_ms},
            {"loss", loss},
            {"skipped", turn.skipped},
            {"samples", turn.samples},
            {"tokens", turn.tokens},
            {"step_samples", turn.step_samples},
            {"step_tokens", turn.step_tokens},
            {"step_skipped", turn.step_skipped},
            {"peak_memory_bytes", turn.peak_memory_bytes},
            {"involuntary_switches", turn.involuntary_switches},
            {"executed", turn.executed}};
}

}  // namespace switchyard::compare
