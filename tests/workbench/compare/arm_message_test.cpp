// What arms say: taken where it fits, named with the line where it does not.
// To add a case of a protocol error: a line and what is said of it.
#include <cmath>
#include <functional>
#include <string>
#include <variant>

#include "core/kernel/base/limits.h"
#include "core/workbench/compare/arms/arm_message.h"

#include "made_up_arm.h"

#include <switchyard_test.h>

using namespace std::string_literals;
using namespace switchyard::compare;
using switchyard::test::contains;

namespace {

template <class Answer>
std::string protocol_error_of(const Answer& answer) {
    const auto* const found = std::get_if<ProtocolError>(&answer);
    return found == nullptr ? "none" : found->text;
}

// Two passes over one row, three tokens of a vocabulary of ten.
constexpr GenerationAsked three_tokens{2, 1, 3, 10};

std::string generation_line(const std::string& member, const std::string& value) {
    nlohmann::ordered_json line{{"type", "report"},
                                {"step_ms", {9.0, 9.5}},
                                {"prefill_ms", {5.0, 5.5}},
                                {"token_ms", {{2.0, 2.0}, {2.0, 2.0}}},
                                {"generated", {{1, 2, 3}}}};
    auto text = line.dump();
    if (member.empty()) return text;
    const auto at = text.find("\"" + member + "\":");
    if (at == std::string::npos) return text.insert(text.size() - 1, ",\"" + member + "\":" + value);
    const auto begin = at + member.size() + 3;
    auto end = text.find(",\"", begin);
    if (end == std::string::npos) end = text.size() - 1;
    return text.replace(begin, end - begin, value);
}

std::string generation_fault(const std::string& member, const std::string& value) {
    const auto answer = read_generation(generation_line(member, value), three_tokens);
    const auto* const found = std::get_if<ProtocolError>(&answer);
    return found == nullptr ? "none" : found->text;
}

}  // namespace

TEST_CASE("a generation goes through its message and back") {
    Generation generation;
    generation.step_ms = {9.0};
    generation.prefill_ms = {5.0};
    generation.token_ms = {{2.0, 1.5}};
    generation.generated = {{4, 0, 9}, {1, 1, 1}};
    generation.prompt_tokens = 20;
    generation.read_bytes = 1000;
    generation.cache_bytes = 64;
    generation.executed = {{"linear", {{{"component", "torch"}}}}};
    const auto answer = read_generation(to_message(generation).dump(), {1, 2, 3, 10});
    REQUIRE(std::holds_alternative<Generation>(answer));
    const auto& read = std::get<Generation>(answer);
    CHECK(read.step_ms == generation.step_ms);
    CHECK(read.prefill_ms == generation.prefill_ms);
    CHECK(read.token_ms == generation.token_ms);
    CHECK(read.generated == generation.generated);
    CHECK(read.prompt_tokens == 20);
    CHECK(read.read_bytes == 1000);
    CHECK(read.cache_bytes == 64);
    CHECK(read.peak_memory_bytes == -1);
    CHECK(read.executed == generation.executed);
}

TEST_CASE("a generation that is not what was asked for is a protocol error") {
    CHECK(generation_fault("", "") == "none");
    CHECK_THAT(generation_fault("prefill_ms", "[5.0]"),
               contains("\"prefill_ms\" is not a list of 2 numbers, one for each step"));
    CHECK_THAT(generation_fault("prefill_ms", "[-5.0,1.0]"), contains("has a value that is not a time"));
    CHECK_THAT(generation_fault("token_ms", "[[2.0],[2.0]]"),
               contains("\"token_ms\" is not a list of 2 numbers, one for each token after the first"));
    CHECK_THAT(generation_fault("token_ms", "[[2.0,2.0]]"),
               contains("\"token_ms\" is not a list of 2 lists, one for each step"));
    CHECK_THAT(generation_fault("step_ms", "[9.0,5.0]"),
               contains("\"prefill_ms\" and \"token_ms\" are more than \"step_ms\" together"));
    CHECK_THAT(generation_fault("generated", "[[1,2,3],[1,2,3]]"),
               contains("\"generated\" is not a list of 1 lists, one for each row"));
    CHECK_THAT(generation_fault("generated", "[[1,2]]"),
               contains("a row that is not a list of 3 tokens, as many as were asked for"));
    CHECK_THAT(generation_fault("generated", "[[1,2,10]]"),
               contains("has a value that is no token; expected 0 to 9"));
    CHECK_THAT(generation_fault("generated", "[[1,2,-1]]"), contains("has a value that is no token"));
    CHECK_THAT(generation_fault("generated", "[[1,2,1.5]]"), contains("has a value that is no token"));
    CHECK_THAT(generation_fault("cache_bytes", "-2"), contains("has a value that is not a count"));
}

TEST_CASE("a turn goes through its message and back") {
    Turn turn;
    turn.step_ms = {1.5, 2.5};
    turn.loss = {0.7, std::nan("")};
    turn.samples = 8;
    turn.tokens = 100;
    turn.step_samples = {4, 4};
    turn.step_tokens = {60, 40};
    turn.step_skipped = {1, 0};
    turn.peak_memory_bytes = 1000;
    turn.executed = {{"attention", {{{"component", "torch"}}}}};
    const auto answer = read_turn(to_message(turn).dump(), 2);
    REQUIRE(std::holds_alternative<Turn>(answer));
    const auto& read = std::get<Turn>(answer);
    CHECK(read.step_ms == turn.step_ms);
    CHECK(read.loss[0] == 0.7);
    CHECK(std::isnan(read.loss[1]));
    CHECK(read.step_tokens == turn.step_tokens);
    CHECK(read.step_skipped == turn.step_skipped);
    CHECK(read.peak_memory_bytes == 1000);
    CHECK(read.involuntary_switches == -1);
    CHECK(read.executed == turn.executed);
}

TEST_CASE("an arm needs to say little") {
    const auto answer = read_turn(R"({"type":"report","step_ms":[3],"loss":[1],"samples":2,"tokens":9})", 1);
    REQUIRE(std::holds_alternative<Turn>(answer));
    CHECK(std::get<Turn>(answer).peak_memory_bytes == -1);
    const auto ready = read_ready(R"({"type":"report","loss":null})");
    REQUIRE(std::holds_alternative<Ready>(ready));
    CHECK(std::get<Ready>(ready).operation == Operation::step);
    CHECK(std::isnan(std::get<Ready>(ready).loss));
    CHECK_FALSE(std::get<Ready>(ready).first_step_written);
}

TEST_CASE("what an arm is ready for goes through its message and back") {
    Ready ready;
    ready.operation = Operation::forward;
    ready.observes = true;
    const auto answer = read_ready(to_message(ready).dump());
    REQUIRE(std::holds_alternative<Ready>(answer));
    CHECK(std::get<Ready>(answer).operation == Operation::forward);
    CHECK(std::get<Ready>(answer).observes);
    const auto older = read_ready(R"({"type":"report","loss":null})");  // as an external arm says it
    REQUIRE(std::holds_alternative<Ready>(older));
    CHECK_FALSE(std::get<Ready>(older).observes);
    const auto other = read_ready(R"({"type":"report","loss":null,"operation":"sing"})");
    REQUIRE(std::holds_alternative<ProtocolError>(other));
    CHECK_THAT(std::get<ProtocolError>(other).text, contains("has an \"operation\" that was not asked for"));
}

TEST_CASE("an observed step goes through its message and back") {
    const auto step = switchyard::test::step_of(1000);
    const auto answer = read_observed(to_message(step).dump());
    REQUIRE(std::holds_alternative<switchyard::profile::ObservedStep>(answer));
    const auto& read = std::get<switchyard::profile::ObservedStep>(answer);
    CHECK(read.samples == 4);
    CHECK(read.tokens == 100);
    CHECK(read.cost.flops == 1e9);
    CHECK(read.cost.read == 2e8);
    CHECK(read.cost.written == 5e7);
    CHECK(read.memory.peak.ms == 40.0);
    CHECK(read.memory.peak.parts == step.memory.peak.parts);
    CHECK(read.memory.layers == step.memory.layers);
    CHECK(read.memory.allocations == 7);
    REQUIRE(read.memory.line.size() == 3);
    for (std::size_t i = 0; i < 3; ++i) {
        CHECK(read.memory.line[i].ms == step.memory.line[i].ms);
        CHECK(read.memory.line[i].parts == step.memory.line[i].parts);
    }
}

TEST_CASE("an observed step that is none is a protocol error that says why") {
    const auto fault = [](const std::function<void(nlohmann::ordered_json&)>& change) {
        auto message = to_message(switchyard::test::step_of(1000));
        change(message);
        const auto answer = read_observed(message.dump());
        const auto* const found = std::get_if<ProtocolError>(&answer);
        return found == nullptr ? "none" : found->text;
    };
    CHECK(fault([](auto&) {}) == "none");
    CHECK_THAT(fault([](auto& m) { m.erase("memory"); }),
               contains("its line does not fit: \"memory\" is missing"));
    CHECK_THAT(fault([](auto& m) { m["tokens"] = -1; }),
               contains("\"tokens\" has a value that is not a count"));
    CHECK_THAT(fault([](auto& m) { m["flops"] = "many"; }), contains("\"flops\" is a text"));
    CHECK_THAT(fault([](auto& m) { m["read_bytes"] = -1.0; }), contains("\"read_bytes\" is below 0"));
    CHECK_THAT(fault([](auto& m) { m["memory"]["line"] = 5; }),
               contains("\"line\" is the number 5; expected a list"));
    CHECK_THAT(fault([](auto& m) { m["memory"]["line"][0]["ms"] = 50.0; }),
               contains("\"line\" is not in the order of time"));
    CHECK_THAT(fault([](auto& m) { m["memory"]["line"][0]["parts"].erase("masters"); }),
               contains("\"masters\" is missing"));
    CHECK_THAT(fault([](auto& m) { m["memory"]["parts_at_peak"]["masters"] = 1e30; }),
               contains("\"masters\" is the number 1e+30"));
    CHECK_THAT(fault([](auto& m) {
                   while (m["memory"]["line"].size() < 2500)
                       m["memory"]["line"].push_back(m["memory"]["line"].back());
               }),
               contains("\"line\" has more than 2000 points"));
    CHECK_THAT(fault([](auto& m) { m["memory"]["most_activations"][0]["bytes"] = nullptr; }),
               contains("\"bytes\" is"));
}

TEST_CASE("an evaluation goes through its message and back") {
    const Evaluation evaluation{40, 38, 31, 0.1 + 0.2};
    const auto answer = read_evaluation(to_message(evaluation).dump(), 40);
    REQUIRE(std::holds_alternative<Evaluation>(answer));
    const auto& read = std::get<Evaluation>(answer);
    CHECK(read.samples == 40);
    CHECK(read.labels == 38);
    CHECK(read.correct == 31);
    CHECK(read.loss == 0.1 + 0.2);
    const auto little = read_evaluation(R"({"type":"report","samples":2,"labels":9,"loss":null})", 2);
    REQUIRE(std::holds_alternative<Evaluation>(little));
    CHECK(std::get<Evaluation>(little).correct == -1);
    CHECK(std::isnan(std::get<Evaluation>(little).loss));

    Ready ready;
    ready.evaluates = true;
    ready.not_evaluated = "no data";
    const auto told = read_ready(to_message(ready).dump());
    REQUIRE(std::holds_alternative<Ready>(told));
    CHECK(std::get<Ready>(told).evaluates);
    CHECK(std::get<Ready>(told).not_evaluated == "no data");
    const auto older = read_ready(R"({"type":"report","loss":null})");
    REQUIRE(std::holds_alternative<Ready>(older));
    CHECK_FALSE(std::get<Ready>(older).evaluates);
    CHECK_THAT(protocol_error_of(read_ready(R"({"type":"report","loss":null,"evaluates":"yes"})")),
               contains("\"evaluates\" is neither true nor false"));
}

TEST_CASE("an evaluation with counts that none can have is a protocol error") {
    const auto fault = [](const std::string& key, const nlohmann::ordered_json& value) {
        auto message = to_message(Evaluation{40, 38, 31, 0.5});
        message[key] = value;
        if (value == "missing") message.erase(key);
        const auto answer = read_evaluation(message.dump(), 40);
        const auto* const found = std::get_if<ProtocolError>(&answer);
        return found == nullptr ? "none" : found->text;
    };
    CHECK(fault("samples", 40) == "none");
    CHECK(fault("correct", 38) == "none");
    CHECK(fault("correct", nullptr) == "none");
    CHECK_THAT(fault("correct", 39), contains("counts 39 correct of 38 labels"));
    CHECK_THAT(fault("correct", -2), contains("\"correct\" has a value that is not a count"));
    CHECK_THAT(fault("correct", 1.5), contains("\"correct\" is not a whole number"));
    CHECK_THAT(fault("samples", 41), contains("counts 41 samples; it was asked for 40 at most"));
    CHECK_THAT(fault("samples", 0), contains("counts no samples"));
    CHECK_THAT(fault("samples", -1), contains("\"samples\" has a value that is not a count"));
    CHECK_THAT(fault("samples", "missing"), contains("has no \"samples\""));
    CHECK_THAT(fault("labels", -1), contains("\"labels\" has a value that is not a count"));
    CHECK_THAT(fault("labels", 1e30), contains("\"labels\" is not a whole number"));
    CHECK_THAT(fault("labels", "missing"), contains("has no \"labels\""));
    CHECK_THAT(fault("loss", "low"), contains("\"loss\" is not a number"));
    CHECK_THAT(fault("loss", "missing"), contains("has no \"loss\""));
    CHECK_THAT(
        protocol_error_of(read_evaluation(R"({"type":"report","samples":1,"labels":1,"loss":1e999})", 40)),
        contains("its line is not valid JSON"));
}

TEST_CASE("an error is the arm's own word") {
    const auto answer = read_turn(R"({"type":"error","text":"no such model"})", 1);
    REQUIRE(std::holds_alternative<ArmError>(answer));
    CHECK(std::get<ArmError>(answer).text == "no such model");
}

TEST_CASE("a protocol error shows its line") {
    CHECK(protocol_error_of(read_turn("Loading weights...", 1)) ==
          "its line is not JSON: 'Loading weights...'");
    CHECK(protocol_error_of(read_turn("[1, 2]", 1)) == "its line is not a JSON object: '[1, 2]'");
    CHECK(protocol_error_of(read_turn("{}", 1)) == "its line is neither \"report\" nor \"error\": '{}'");
    CHECK_THAT(protocol_error_of(read_turn(R"({"type":"report","loss":[1],"samples":2,"tokens":9})", 1)),
               contains("its line has no \"step_ms\": "));
    CHECK_THAT(protocol_error_of(
                   read_turn(R"({"type":"report","step_ms":[1],"loss":[1],"samples":2,"tokens":9})", 2)),
               contains("\"step_ms\" is not a list of 2 numbers, one for each step"));
    CHECK_THAT(protocol_error_of(
                   read_turn(R"({"type":"report","step_ms":[-1],"loss":[1],"samples":2,"tokens":9})", 1)),
               contains("\"step_ms\" has a value that is not a time"));
    CHECK_THAT(protocol_error_of(
                   read_turn(R"({"type":"report","step_ms":[1],"loss":["x"],"samples":2,"tokens":9})", 1)),
               contains("\"loss\" is not a number"));
    CHECK_THAT(protocol_error_of(
                   read_turn(R"({"type":"report","step_ms":[1],"loss":[1],"samples":0,"tokens":9})", 1)),
               contains("counts no samples"));
    CHECK_THAT(protocol_error_of(
                   read_turn(R"({"type":"report","step_ms":[1],"loss":[1],"samples":1e99,"tokens":9})", 1)),
               contains("\"samples\" is not a whole number"));
    CHECK_THAT(protocol_error_of(
                   read_turn(R"({"type":"report","step_ms":[1],"loss":[NaN],"samples":1,"tokens":9})", 1)),
               contains("its line is not valid JSON at column 40: "));
}

TEST_CASE("a line that nests without end is a protocol error, and does not end the coordinator") {
    const auto line = "{\"a\":" + std::string(60'000, '[') + std::string(60'000, ']') + "}";
    CHECK_THAT(protocol_error_of(read_turn(line, 1)),
               contains("more than 64 lists and objects inside each other"));
}

TEST_CASE("a line is shown safely and not at length") {
    CHECK(protocol_error_of(read_turn("a\tb\x1b[31m\xff", 1)) ==
          "its line is not JSON: 'a\\tb\\x1b[31m\\xff'");
    const auto said = protocol_error_of(read_turn("{" + std::string(1'000'000, 'x'), 1));
    CHECK(said.size() < 1000);
    CHECK_THAT(said, contains("... (1000001 characters)'"));
}

TEST_CASE("an arm's counts are believed up to a limit") {
    const auto turn = [](const std::string& count, const std::string& value) {
        auto text = R"({"type":"report","step_ms":[1],"loss":[1],"samples":2,"tokens":9})"s;
        if (text.find("\"" + count + "\"") == std::string::npos)
            return text.insert(text.size() - 1, ",\"" + count + "\":" + value);
        const auto at = text.find("\"" + count + "\"") + count.size() + 3;
        return text.replace(at, 1, value);
    };
    const auto most = std::to_string(switchyard::base::limits::arm_count),
               more = std::to_string(switchyard::base::limits::arm_count + 1);
    for (const std::string key :
         {"samples", "tokens", "skipped", "peak_memory_bytes", "involuntary_switches"}) {
        INFO(key);
        CHECK(std::holds_alternative<Turn>(read_turn(turn(key, most), 1)));
        for (const std::string& bad : {more, "9223372036854775807"s, "18446744073709551615"s, "-2"s})
            CHECK_THAT(protocol_error_of(read_turn(turn(key, bad), 1)),
                       contains("\"" + key + "\" has a value that is not a count"));
    }
    for (const auto& [key, sum] : {std::pair("step_samples"s, "2"s), std::pair("step_tokens"s, "9"s)}) {
        CHECK(std::holds_alternative<Turn>(read_turn(turn(key, "[" + sum + "]"), 1)));
        CHECK_THAT(protocol_error_of(read_turn(turn(key, "[1e16]"), 1)),
                   contains("has a value that is not a count"));
        CHECK_THAT(protocol_error_of(read_turn(turn(key, "[1]"), 1)),
                   contains("\"" + key + "\" are not " + sum));
    }
}

TEST_CASE("an arm's times are believed within limits") {
    namespace limits = switchyard::base::limits;
    const auto turn = [](double ms) {
        nlohmann::json json{{"type", "report"}, {"loss", {1}}, {"samples", 2}, {"tokens", 9}};
        json["step_ms"] = {ms};
        return read_turn(json.dump(), 1);
    };
    for (const double good : {limits::arm_least_ms, 1.0, limits::arm_most_ms}) {
        INFO(good);
        CHECK(std::holds_alternative<Turn>(turn(good)));
    }
    for (const double bad : {0.0, 1e-300, 0.99 * limits::arm_least_ms, 1.01 * limits::arm_most_ms, 1e300}) {
        INFO(bad);
        CHECK_THAT(protocol_error_of(turn(bad)),
                   contains("\"step_ms\" has a value that is not a time; expected 1e-6 to 1e+10 ms"));
    }
}
