// A component made for one case, as the core would make it, with its executions counted.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <switchyard/conformance/verify.h>
#include <switchyard/interfaces/component.h>
#include <switchyard/interfaces/request.h>
#include <switchyard/interfaces/verdict.h>

namespace switchyard::conformance {

// What plugin.toml says of the component.
using Facts = ComponentManifest;

// Whether its gradients can be asked for where the component is called directly, as here.
inline bool has_gradient(const Facts& facts) {
    return facts.gradient == GradientMode::kernel || facts.gradient == GradientMode::differentiable;
}

// Asks `supports`. What it throws becomes a reason of Code::Internal.
Verdict ask(const ComponentUnderTest& component, const Request& request);

class Binding {
public:
    // Calls `create`; lets out what it throws.
    Binding(const ComponentUnderTest& component, std::shared_ptr<const Request> request);
    ~Binding();
    Binding(const Binding&) = delete;
    Binding& operator=(const Binding&) = delete;

    void* interface() const { return made_; }
    // The variants counted since the last call of this.
    std::vector<std::string> take_executed();

private:
    const SwitchyardComponent* entry_;
    std::shared_ptr<const Request> request_;
    CreateInfo info_;
    std::vector<std::string> executed_;
    void* made_ = nullptr;
};

// The text of the exception being handled.
std::string current_exception_text();

}  // namespace switchyard::conformance
