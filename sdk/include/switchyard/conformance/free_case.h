// A case of a kind whose calls are no map from tensors to tensors - optimizers, data loaders, policies: it
// makes the component, calls it as it likes and says itself what was wrong.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <switchyard/conformance/binding.h>
#include <switchyard/conformance/checks.h>
#include <switchyard/conformance/report.h>
#include <switchyard/conformance/tolerance.h>
#include <switchyard/interfaces/request.h>

namespace switchyard::conformance {

// What a case finds. Faults get their `where` afterwards.
class Findings {
public:
    Findings(const ComponentUnderTest& component, const Facts& facts)
        : component_(component), facts_(facts) {}

    const ComponentUnderTest& component() const { return component_; }
    const Facts& facts() const { return facts_; }
    void add(const char* code, std::string detail) { faults_.push_back({code, "", std::move(detail)}); }
    // The component's bound, where it has one, takes the place of the yardstick's.
    void compare(const std::string& what, const at::Tensor& found, Yardstick yardstick, const char* code);
    // To be called after calls that must have run something, so many times (0: any number).
    void check_executed(Binding& binding, int times = 0);

    bool any() const { return !faults_.empty(); }
    std::vector<Fault>& faults() { return faults_; }
    double worst_ratio() const { return worst_; }

private:
    const ComponentUnderTest& component_;
    const Facts& facts_;
    std::vector<Fault> faults_;
    double worst_ = 0.0;
};

struct FreeCase {
    std::string name;
    std::shared_ptr<const Request> request;
    std::function<void(Findings&)> run;  // what it throws becomes accepted_then_threw
};

// Nothing is filed where gradients alone are looked for: these kinds have none.
void run_case(const ComponentUnderTest& component, const Facts& facts, const FreeCase& one,
              const Checks& checks, Report& report);

// Appends what one case found.
void file(Report& report, const std::string& name, std::vector<Fault> faults, double worst_ratio);

}  // namespace switchyard::conformance
