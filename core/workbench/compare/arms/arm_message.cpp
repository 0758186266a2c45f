#include "core/workbench/compare/arms/arm_message.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>

#include "core/kernel/base/input_error.h"
#include "core/kernel/base/json_text.h"
#include "core/kernel/base/number_text.h"
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

// From 0 to 1; below 0 where it is not there: not known.
double share(const Json& object, const char* key) {
    if (base::member(object, key).is_null()) return -1.0;
    const double value = number(object[key], key);
    if (!(value >= 0.0 && value <= 1.0))
        throw InvalidMessage(std::string("\"") + key + "\" has a value that is not a share, 0 to 1");
    return value;
}

std::string text(const Json& object, const char* key) {
    if (!object.contains(key) || object[key].is_null()) return "";
    if (!object[key].is_string()) throw InvalidMessage(std::string("\"") + key + "\" is not a string");
    return object[key].get<std::string>();
}

std::vector<double> numbers_in(const Json& list, const char* key, std::int64_t count, const char* of_each) {
    if (!list.is_array() || static_cast<std::int64_t>(list.size()) != count)
        throw InvalidMessage(std::string("\"") + key + "\" is not a list of " + std::to_string(count) +
                             " numbers, one for each " + of_each);
    std::vector<double> values;
    for (const auto& value : list) values.push_back(number(value, key));
    return values;
}

std::vector<double> numbers(const Json& object, const char* key, std::int64_t steps) {
    return numbers_in(member(object, key), key, steps, "step");
}

// `least`: of steps, which numbers are divided by; parts of one may have taken no time.
std::vector<double> checked_times(std::vector<double> times, const char* key, double least = 0.0) {
    for (const double ms : times) {
        if (!(ms >= least && ms <= base::limits::arm_most_ms))
            throw InvalidMessage(std::string("\"") + key + "\" has a value that is not a time; expected " +
                                 base::scientific(least, 1) + " to " +
                                 base::scientific(base::limits::arm_most_ms, 1) + " ms");
    }
    return times;
}

std::vector<double> step_times(const Json& object, std::int64_t steps) {
    return checked_times(numbers(object, "step_ms", steps), "step_ms", base::limits::arm_least_ms);
}

Json object_or_empty(const Json& object, const char* key) {
    return object.contains(key) && object[key].is_object() ? object[key] : Json::object();
}

bool flag(const Json& object, const char* key) {
    if (!object.contains(key)) return false;
    if (!object[key].is_boolean())
        throw InvalidMessage(std::string("\"") + key + "\" is neither true nor false");
    return object[key].get<bool>();
}

// [passes][tokens - 1]
std::vector<std::vector<double>> token_times(const Json& object, const GenerationAsked& asked) {
    const Json& list = member(object, "token_ms");
    if (!list.is_array() || static_cast<std::int64_t>(list.size()) != asked.passes)
        throw InvalidMessage("\"token_ms\" is not a list of " + std::to_string(asked.passes) +
                             " lists, one for each step");
    std::vector<std::vector<double>> times;
    for (const auto& pass : list) {
        auto of_pass = numbers_in(pass, "token_ms", asked.tokens - 1, "token after the first");
        times.push_back(checked_times(std::move(of_pass), "token_ms"));
    }
    return times;
}

std::int64_t token_id(const Json& value, std::int64_t vocabulary) {
    const auto id = base::integer_of(value);
    if (!id || *id < 0 || *id >= vocabulary)
        throw InvalidMessage("\"generated\" has a value that is no token; expected 0 to " +
                             std::to_string(vocabulary - 1));
    return *id;
}

// [rows][tokens]
std::vector<std::vector<std::int64_t>> token_ids(const Json& object, const GenerationAsked& asked) {
    const Json& list = member(object, "generated");
    if (!list.is_array() || static_cast<std::int64_t>(list.size()) != asked.rows)
        throw InvalidMessage("\"generated\" is not a list of " + std::to_string(asked.rows) +
                             " lists, one for each row");
    std::vector<std::vector<std::int64_t>> rows;
    for (const auto& ids : list) {
        if (!ids.is_array() || static_cast<std::int64_t>(ids.size()) != asked.tokens)
            throw InvalidMessage("\"generated\" has a row that is not a list of " +
                                 std::to_string(asked.tokens) + " tokens, as many as were asked for");
        auto& row = rows.emplace_back();
        for (const auto& value : ids) row.push_back(token_id(value, asked.vocabulary));
    }
    return rows;
}

// The first token and those after it are parts of a pass.
void check_parts(const Generation& generation) {
    for (std::size_t pass = 0; pass < generation.step_ms.size(); ++pass) {
        const auto& tokens = generation.token_ms[pass];
        const double parts = std::accumulate(tokens.begin(), tokens.end(), generation.prefill_ms[pass]);
        if (parts > generation.step_ms[pass] * 1.01 + 1.0)
            throw InvalidMessage("\"prefill_ms\" and \"token_ms\" are more than \"step_ms\" together");
    }
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
    } catch (const base::InputError& invalid) {
        return ProtocolError{std::string("its line does not fit: ") + invalid.what() + ": '" +
                             base::quoted(line) + "'"};
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
        ready.first_step_written = flag(object, "first_step_written");
        ready.weight_bytes = count(object, "weight_bytes", false);
        ready.reduced = flag(object, "reduced");
        ready.cache_dtype = text(object, "cache_dtype");
        ready.observes = flag(object, "observes");
        ready.evaluates = flag(object, "evaluates");
        ready.not_evaluated = text(object, "not_evaluated");
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
        turn.step_ms = step_times(object, steps);
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
        turn.page_faults = count(object, "page_faults", false);
        turn.others_share = share(object, "others_share");
        turn.executed = object_or_empty(object, "executed");
        return turn;
    });
}

GenerationAnswer read_generation(const std::string& line, const GenerationAsked& asked) {
    return answer<GenerationAnswer>(line, [&asked](const Json& object) {
        Generation generation;
        generation.step_ms = step_times(object, asked.passes);
        generation.prefill_ms = checked_times(numbers(object, "prefill_ms", asked.passes), "prefill_ms");
        generation.token_ms = token_times(object, asked);
        check_parts(generation);
        generation.generated = token_ids(object, asked);
        generation.prompt_tokens = count(object, "prompt_tokens", false);
        generation.read_bytes = count(object, "read_bytes", false);
        generation.cache_bytes = count(object, "cache_bytes", false);
        generation.peak_memory_bytes = count(object, "peak_memory_bytes", false);
        generation.involuntary_switches = count(object, "involuntary_switches", false);
        generation.others_share = share(object, "others_share");
        generation.executed = object_or_empty(object, "executed");
        return generation;
    });
}

ObservedAnswer read_observed(const std::string& line) {
    return answer<ObservedAnswer>(line,
                                  [](const Json& object) { return profile::read_observed_step(object); });
}

EvaluationAnswer read_evaluation(const std::string& line, std::int64_t most) {
    return answer<EvaluationAnswer>(line, [most](const Json& object) {
        Evaluation evaluation;
        evaluation.samples = count(object, "samples", true);
        evaluation.labels = count(object, "labels", true);
        evaluation.correct = count(object, "correct", false);
        evaluation.loss = number(member(object, "loss"), "loss");
        if (evaluation.samples == 0) throw InvalidMessage("counts no samples");
        if (evaluation.samples > most)
            throw InvalidMessage("counts " + std::to_string(evaluation.samples) +
                                 " samples; it was asked for " + std::to_string(most) + " at most");
        if (evaluation.correct > evaluation.labels)
            throw InvalidMessage("counts " + std::to_string(evaluation.correct) + " correct of " +
                                 std::to_string(evaluation.labels) + " labels");
        return evaluation;
    });
}

Json to_message(const Evaluation& evaluation) {
    return {{"type", "report"},
            {"samples", evaluation.samples},
            {"labels", evaluation.labels},
            {"correct", evaluation.correct},
            {"loss", base::number_or_null(evaluation.loss)}};
}

Json to_message(const profile::ObservedStep& step) {
    Json json{{"type", "report"}};
    json.update(profile::to_json(step));
    return json;
}

Json to_message(const Ready& ready) {
    Json json{{"type", "report"},
              {"operation", name(ready.operation)},
              {"description", ready.description},
              {"dtype", ready.dtype},
              {"loss", base::number_or_null(ready.loss)},
              {"first_step_written", ready.first_step_written},
              {"weight_bytes", ready.weight_bytes},
              {"reduced", ready.reduced},
              {"cache_dtype", ready.cache_dtype},
              {"observes", ready.observes},
              {"evaluates", ready.evaluates},
              {"not_evaluated", ready.not_evaluated}};
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
            {"page_faults", turn.page_faults},
            {"others_share", turn.others_share < 0.0 ? Json(nullptr) : Json(turn.others_share)},
            {"executed", turn.executed}};
}

Json to_message(const Generation& generation) {
    return {{"type", "report"},
            {"step_ms", generation.step_ms},
            {"prefill_ms", generation.prefill_ms},
            {"token_ms", generation.token_ms},
            {"generated", generation.generated},
            {"prompt_tokens", generation.prompt_tokens},
            {"read_bytes", generation.read_bytes},
            {"cache_bytes", generation.cache_bytes},
            {"peak_memory_bytes", generation.peak_memory_bytes},
            {"involuntary_switches", generation.involuntary_switches},
            {"others_share", generation.others_share < 0.0 ? Json(nullptr) : Json(generation.others_share)},
            {"executed", generation.executed}};
}

}  // namespace switchyard::compare
