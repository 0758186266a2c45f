#include "core/workbench/compare/gate/gate.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "core/kernel/base/number_text.h"
#include "core/kernel/base/printable.h"
#include "core/workbench/compare/experiment/judge_arms.h"

namespace switchyard::compare {
namespace {

constexpr double significant = 0.05;

// As it was asked for: 3.0%, 12.5%.
std::string share_text(double share) {
    const double percent = 100.0 * share;
    auto text = base::digits(percent, 2);
    for (int more = 3; more <= 6 && std::abs(std::stod(text) - percent) > 1e-9 * percent; ++more)
        text = base::digits(percent, more);
    return text + "%";
}

std::string percent_over(double ratio) {
    return base::digits(100.0 * std::abs(ratio - 1.0), 2) + " % " + (ratio > 1.0 ? "more" : "less");
}

// By how much longer an arm takes, in words.
std::string time_text(double speedup) { return percent_over(1.0 / speedup) + " time than the base"; }

std::string interval_text(const PairResult& pair) {
    return base::interval_text(pair.speedup) + " times as fast";
}

GateFinding judge_speed(const PairResult& pair, double allowed) {
    GateFinding finding{"", "slower:" + share_text(allowed), GateOutcome::cannot_tell, ""};
    const double bound = 1.0 / (1.0 + allowed);
    const auto& speed = pair.speedup;
    if (!std::isfinite(speed.low) || pair.blocks < least_blocks) {
        finding.text = pair.reason.empty() ? "its speed is not known" : pair.reason;
    } else if (speed.median <= bound && pair.p_corrected < significant) {
        finding.outcome = GateOutcome::regression;
        finding.text = "takes " + time_text(speed.median) + ": " + interval_text(pair);
    } else if (speed.low >= bound && !(pair.total_speedup < bound)) {
        finding.outcome = GateOutcome::fine;
        finding.text = interval_text(pair);
    } else if (speed.low >= bound) {
        finding.text =
            "its typical block is fine, but all blocks together take " + time_text(pair.total_speedup);
    } else {
        finding.text = "may be slower by more than " + share_text(allowed) + ": " + interval_text(pair) +
                       "; use more rounds and blocks, or a quieter machine";
    }
    return finding;
}

GateFinding judge_memory(const ArmResult& base, const ArmResult& arm, double allowed) {
    GateFinding finding{"", "memory:" + share_text(allowed), GateOutcome::cannot_tell, ""};
    if (base.peak_memory_bytes <= 0 || arm.peak_memory_bytes < 0) {
        finding.text = "the memory of " + std::string(arm.peak_memory_bytes < 0 ? "this arm" : "the base") +
                       " is not known";
        return finding;
    }
    const double ratio =
        static_cast<double>(arm.peak_memory_bytes) / static_cast<double>(base.peak_memory_bytes);
    finding.outcome = ratio > 1.0 + allowed ? GateOutcome::regression : GateOutcome::fine;
    finding.text = base::bytes_text(static_cast<double>(arm.peak_memory_bytes)) + " at the most, the base " +
                   base::bytes_text(static_cast<double>(base.peak_memory_bytes));
    if (finding.outcome == GateOutcome::regression) finding.text += ": " + percent_over(ratio);
    return finding;
}

// Of the operation `data` and of `generate` there is no loss: outputs are all that there is.
bool is_drift_known(const ArmResult& arm, Operation operation) {
    if (operation == Operation::data) return !std::isnan(arm.drift.output);
    if (operation == Operation::generate)
        return !std::isnan(arm.drift.output) && !std::isnan(arm.allowed.output);
    return !std::isnan(arm.drift.loss) && !std::isnan(arm.allowed.loss);
}

GateFinding judge_drift(const PairResult& pair, const ArmResult& arm, Operation operation) {
    GateFinding finding{"", "drift", GateOutcome::cannot_tell, ""};
    const std::string first = trains(operation) ? "first step" : "first pass";
    if (pair.verdict == bench::SpeedVerdict::wrong) {
        finding.outcome = GateOutcome::numerics;
        finding.text = pair.reason;
    } else if (!is_drift_known(arm, operation)) {
        finding.text = operation != Operation::generate || std::isnan(arm.drift.output)
                           ? "how far its " + first + " is from the base's is not known"
                           : "its first tokens' logits are " + base::scientific(arm.drift.output) +
                                 " from the base's, and rounding bounds that of no component or cache of "
                                 "reduced accuracy";
    } else if (std::isnan(arm.drift.gradient) && !std::isnan(arm.allowed.gradient)) {
        finding.text =
            "how far the gradients of its first step are from the base's is not known: they are not finite, "
            "or it does not tell them";
    } else {
        finding.outcome = GateOutcome::fine;
        finding.text = "its " + first + " is the base's, but for rounding";
    }
    return finding;
}

GateFinding judge_loss(const PairResult& pair, const bench::LossMargin& margin) {
    GateFinding finding{"", "loss:" + bench::to_string(margin), GateOutcome::cannot_tell, ""};
    if (!pair.loss) {
        finding.text = "final losses were not compared";
        return finding;
    }
    const auto& loss = *pair.loss;
    finding.outcome = loss.verdict == bench::Equivalence::equivalent  ? GateOutcome::fine
                      : loss.verdict == bench::Equivalence::different ? GateOutcome::numerics
                                                                      : GateOutcome::cannot_tell;
    finding.text = loss.reason;
    if (finding.text.empty())
        finding.text =
            "its final loss differs by " + base::digits(margin.shown(loss.difference), 3) + margin.unit();
    return finding;
}

// "3%" or "0.03"; nothing where it is neither.
std::optional<double> read_share(const std::string& text) {
    bench::LossMargin read;
    if (!bench::read_margin(text, read).empty() || read.size > 100.0) return std::nullopt;
    return read.size;
}

std::string unknown_rule(const std::string& word) {
    return "'" + base::quoted(word) +
           "' is none of slower:SHARE, memory:SHARE, drift and loss:MARGIN, as in "
           "slower:3%,memory:5%,drift,loss:0.02";
}

std::string read_rule(const std::string& word, GateRules& rules) {
    const auto colon = word.find(':');
    const auto name = word.substr(0, colon), value = colon == std::string::npos ? "" : word.substr(colon + 1);
    const auto twice = [&] { return "'" + name + "' stands there twice"; };
    if (name == "drift") {
        if (rules.drift) return twice();
        rules.drift = true;
        return colon == std::string::npos ? "" : "drift takes no value: what rounding explains is measured";
    }
    if (name == "slower" || name == "memory") {
        auto& rule = name == "slower" ? rules.slower : rules.memory;
        if (rule) return twice();
        rule = read_share(value);
        return rule ? ""
                    : name + " needs a share above 0, as " + name + ":3%, got '" + base::quoted(value) + "'";
    }
    if (name == "loss") {
        if (rules.loss) return twice();
        const auto wrong = bench::read_margin(value, rules.loss.emplace());
        return wrong.empty() ? "" : "loss: " + wrong;
    }
    return unknown_rule(word);
}

}  // namespace

std::string read_gate_rules(const std::string& text, GateRules& rules) {
    std::size_t from = 0;
    while (true) {
        const auto to = text.find(',', from);
        if (const auto wrong = read_rule(text.substr(from, to - from), rules); !wrong.empty()) return wrong;
        if (to == std::string::npos) return "";
        from = to + 1;
    }
}

int GateResult::exit_code() const {
    const auto any = [this](GateOutcome outcome) {
        return std::any_of(findings.begin(), findings.end(),
                           [outcome](const GateFinding& finding) { return finding.outcome == outcome; });
    };
    if (any(GateOutcome::failed)) return 1;
    if (any(GateOutcome::numerics)) return 5;
    if (any(GateOutcome::regression)) return 3;
    return any(GateOutcome::cannot_tell) ? 4 : 0;
}

GateResult pass_gate(const Comparison& comparison, const GateRules& rules) {
    GateResult result;
    for (const auto& arm : comparison.arms) {
        if (!arm.ok()) result.findings.push_back({arm.spec.name, "ran", GateOutcome::failed, arm.reason});
    }
    for (const auto& pair : comparison.pairs) {
        const auto &base = comparison.arms[pair.base], &arm = comparison.arms[pair.arm];
        const auto add = [&](GateFinding finding) {
            finding.arm = arm.spec.name;
            result.findings.push_back(std::move(finding));
        };
        const bool wrong = pair.verdict == bench::SpeedVerdict::wrong;
        if (rules.drift || wrong) add(judge_drift(pair, arm, comparison.operation));
        if (rules.slower && !wrong) add(judge_speed(pair, *rules.slower));  // else its speed means nothing
        if (rules.memory) add(judge_memory(base, arm, *rules.memory));
        if (rules.loss) add(judge_loss(pair, *rules.loss));
    }
    if (comparison.stopped && rules.any())
        result.findings.push_back(
            {"all arms", "ran", GateOutcome::cannot_tell, "the comparison was stopped before its end"});
    return result;
}

}  // namespace switchyard::compare
