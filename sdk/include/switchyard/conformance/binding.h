// A component made for one case, as the core would make it, with its executions counted.
#pragma once

#include <functional>
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

// While it lives, the run is in the midst of that call (ComponentUnderTest::on_call, which lives longer).
class CallNote {
public:
    CallNote(const std::function<void(const char*)>& on_call, const char* call) : on_call_(on_call) {
        if (on_call_) on_call_(call);
    }
    ~CallNote() {
        if (on_call_) on_call_("");
    }
    CallNote(const CallNote&) = delete;
    CallNote& operator=(const CallNote&) = delete;

private:
    const std::function<void(const char*)>& on_call_;
};

class Binding {
public:
    // Calls `create`; lets out what it throws.
    Binding(const ComponentUnderTest& component, std::shared_ptr<const Request> request);
    ~Binding();
    Binding(const Binding&) = delete;
    Binding& operator=(const Binding&) = delete;

    void* interface() const { return made_; }
    // Returns what `make_call` does, which calls the component under that name.
    template <class MakeCall>
    auto called(const char* call, const MakeCall& make_call) const {
        const CallNote note(on_call_, call);
        return make_call();
    }
    // The variants counted since the last call of this.
    std::vector<std::string> take_executed();

private:
    const SwitchyardComponent* entry_;
    std::function<void(const char*)> on_call_;
    std::shared_ptr<const Request> request_;
    CreateInfo info_;
    std::vector<std::string> executed_;
    void* made_ = nullptr;
};

// The text of the exception being handled.
std::string current_exception_text();

}  // namespace switchyard::conformance
