#include "core/workbench/cli/plugins/verify_client.h"

#include <cstdint>
#include <cstdlib>
#include <utility>

#include "core/kernel/base/input_error.h"
#include "core/kernel/base/json_text.h"
#include "core/kernel/base/number_text.h"
#include "core/kernel/base/printable.h"
#include "core/kernel/machine/program_paths.h"
#include "core/workbench/compare/arms/arm_process.h"

namespace switchyard::cli {
namespace {

using Json = nlohmann::ordered_json;
using compare::Exchange;

const std::string go = R"({"type":"go"})";

std::string with_tail(const std::string& what, const compare::ArmProcess& process) {
    const auto tail = process.stderr_tail();
    return what + (tail.empty() ? "" : "; its last words: " + tail);
}

struct Answer {
    enum class Type : std::uint8_t { error, next_case, done } type = Type::error;
    std::string text;  // of an error
    std::string name;  // of a case
    std::int64_t number = -1, behind = 0;
};

// Adds its report to `counted`, or throws, and then nothing is added.
Answer answer_of(const Json& message, conformance::Report& counted) {
    const auto type = message.at("type").get<std::string>();
    if (type == "error") return {Answer::Type::error, message.at("text").get<std::string>(), "", -1, 0};
    if (type != "case" && type != "done") throw base::InputError("its type is " + base::quoted(type));
    auto with_news = counted;
    take_report(message.at("report"), with_news);
    Answer answer{Answer::Type::done, "", "", -1, 0};
    if (type == "case")
        answer = {Answer::Type::next_case, "", message.at("name").get<std::string>(),
                  message.at("number").get<std::int64_t>(), message.at("behind").get<std::int64_t>()};
    counted = std::move(with_news);
    return answer;
}

// What is no answer came of the component, which has all descriptors of its process.
Answer read_answer(Exchange& exchange, conformance::Report& counted) {
    try {
        return answer_of(base::parse_object(exchange.text, "the process that verifies"), counted);
    } catch (const std::exception& error) {
        exchange.end = Exchange::End::unsolicited;
        exchange.text = "wrote what is no answer: " + base::printable(error.what());
        return {};
    }
}

// The number of a drawn case, from its name before it is made.
std::int64_t drawn_number(const std::string& name) {
    const std::string drawn = "drawn/";
    return name.starts_with(drawn) ? std::strtoll(name.c_str() + drawn.size(), nullptr, 10) : -1;
}

}  // namespace

Verified VerifyClient::run(VerifyPart part) {
    Verified verified;
    verified.report.component = part.component;
    for (std::size_t ends = 0; ends < most_ends; ++ends) {
        verified.not_run = 0;
        if (run_process(part, verified)) break;
    }
    return verified;
}

bool VerifyClient::run_process(VerifyPart& part, Verified& verified) {
    std::string error;
    const base::Program program{{machine::belonging_path("libexec/switchyard/switchyard-run"), "verify"}, ""};
    const auto process = compare::ArmProcess::start(program, guard_, stop_, error);
    if (process == nullptr) {
        verified.refused = error;
        return true;
    }
    conformance::Report counted;  // of this process
    std::string name = "the beginning";
    std::int64_t number = -1, behind = 0;
    auto exchange = process->request(to_json(part).dump(), timeout_ms_);
    const auto fault = [&](const char* code, const std::string& text) {
        if (counted.support.empty()) ++counted.cases;  // else: those that are served
        ++counted.failed;
        if (number >= 0) verified.ran.push_back(name);
        counted.faults.push_back({code, name, with_tail(text, *process), drawn_number(name)});
        add_report(verified.report, counted);
    };
    while (exchange.end == Exchange::End::answered) {
        const auto before = counted.cases;
        const auto answer = read_answer(exchange, counted);
        if (number >= 0 && counted.cases > before) verified.ran.push_back(name);
        if (exchange.end != Exchange::End::answered) break;
        if (answer.type == Answer::Type::error) {
            verified.refused = answer.text;
            return true;
        }
        if (answer.type == Answer::Type::next_case) {
            name = answer.name;
            number = answer.number;
            behind = answer.behind;
            exchange = process->request(go, timeout_ms_);
            continue;
        }
        exchange = process->request(go, timeout_ms_);  // to end
        name = "the end of the process";
        if (exchange.end == Exchange::End::exited &&
            exchange.text == "ended with exit code " + std::to_string(all_cases_ran)) {
            add_report(verified.report, counted);
        } else if (exchange.end != Exchange::End::stopped) {
            fault("changed_exit", exchange.text +
                                      " when all cases had run, where it was to end with exit code " +
                                      std::to_string(all_cases_ran));
        }
        verified.stopped = exchange.end == Exchange::End::stopped;
        return true;
    }
    if (exchange.end == Exchange::End::stopped) {
        add_report(verified.report, counted);
        verified.stopped = true;
        return true;
    }
    const bool hung = exchange.end == Exchange::End::timed_out;
    fault(hung ? "hung" : "ended_process",
          hung ? "did not end within " + base::digits(timeout_ms_ / 1e3) + " s (--timeout)"
               : "the process " + exchange.text);
    if (number < 0) {  // before the first case: it would not go further another time
        verified.refused = "verifying it " + exchange.text + ", before the first case";
        return true;
    }
    part.first = number + 1;
    verified.not_run = behind;
    return false;
}

}  // namespace switchyard::cli
