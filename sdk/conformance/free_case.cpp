#include <switchyard/conformance/free_case.h>

#include <algorithm>
#include <utility>

#include <switchyard/conformance/executed.h>

namespace switchyard::conformance {

std::optional<Fault> wrong_execution(const std::vector<std::string>& executed, const std::string& asked,
                                     const Facts& facts, int times) {
    if (executed.empty()) return Fault{"not_counted", "", "the call returned without calling executed()"};
    if (times > 0 && executed.size() != static_cast<std::size_t>(times)) {
        return Fault{"not_counted", "",
                     "executed() was called " + std::to_string(executed.size()) + " times, expected " +
                         std::to_string(times)};
    }
    for (const std::string& variant : executed) {
        const auto& declared = facts.variants;
        const bool known = declared.empty()
                               ? variant.empty()
                               : std::find(declared.begin(), declared.end(), variant) != declared.end();
        if (!known)
            return Fault{"wrong_variant", "", "executed(\"" + variant + "\") names no declared variant"};
        if (!asked.empty() && variant != asked)
            return Fault{"wrong_variant", "", "'" + asked + "' was asked for, '" + variant + "' ran"};
    }
    return std::nullopt;
}

void Findings::compare(const std::string& what, const at::Tensor& found, Yardstick yardstick,
                       const char* code) {
    if (facts_.accuracy_bound > 0.0) {
        yardstick.reduced_bound = facts_.accuracy_bound;
        // A parameter in bfloat16 stands still where its steps are smaller than half a unit in its last
        // place: after a thousand of them that is far more than what a component's own accuracy costs.
        yardstick.reduced_rounding = yardstick.factor * yardstick.reference.rms;
    }
    const Judgement judgement = judge(found, yardstick);
    worst_ = std::max(worst_, judgement.ratio);
    if (judgement.kind == Judgement::Kind::not_finite) add("nan", what + ": " + judgement.detail);
    if (judgement.kind == Judgement::Kind::too_far) add(code, what + ": " + judgement.detail);
}

void Findings::check_executed(Binding& binding, int times) {
    if (auto fault = wrong_execution(binding.take_executed(), component_.variant, facts_, times))
        faults_.push_back(std::move(*fault));
}

void file(Report& report, const std::string& name, std::vector<Fault> faults, double worst_ratio) {
    ++report.cases;
    if (!faults.empty()) ++report.failed;
    if (worst_ratio > report.worst_ratio) {
        report.worst_ratio = worst_ratio;
        report.worst_case = name;
    }
    for (Fault& fault : faults) {
        fault.where = name;
        report.faults.push_back(std::move(fault));
    }
}

void run_case(const ComponentUnderTest& component, const Facts& facts, const FreeCase& one,
              const Checks& checks, Report& report) {
    if (checks.only_gradients()) return;
    Findings findings(component, facts);
    try {
        one.run(findings);
    } catch (...) {
        findings.add("accepted_then_threw", current_exception_text());
    }
    file(report, one.name, std::move(findings.faults()), findings.worst_ratio());
}

}  // namespace switchyard::conformance
