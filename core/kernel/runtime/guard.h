// Every call into a plugin goes through `guarded`. Whatever the plugin throws - an int included - comes out
// as a PluginError that belongs to the core and says whose fault it is; and while the call runs, its site is
// on this thread's list, which the crash handler reads. Costs a few nanoseconds when nothing is thrown.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>

namespace switchyard::runtime {

// Names of one call. The texts must outlive it, and stay readable in a signal handler: literals, or strings
// of a binding.
struct CallSite {
    const char* plugin = "";
    const char* component = "";
    const char* call = "";  // "attention.forward"
};

class PluginError : public std::runtime_error {
public:
    PluginError(const CallSite& site, const std::string& message);

    const std::string plugin;
    const std::string component;
    const std::string call;
    const std::string text;  // what the plugin said
};

// Puts a site on this thread's list of calls in progress for its own lifetime.
class CallScope {
public:
    explicit CallScope(const CallSite& site) noexcept;
    ~CallScope() noexcept;
    CallScope(const CallScope&) = delete;
    CallScope& operator=(const CallScope&) = delete;

    const CallSite& site() const noexcept { return site_; }
    const CallScope* outer() const noexcept { return outer_; }

private:
    CallSite site_;
    const CallScope* outer_ = nullptr;
};

// The innermost call in progress on this thread, or nullptr.
const CallScope* current_call() noexcept;

// To be called in a catch block: throws the current exception again as a PluginError. One that already is a
// PluginError keeps its own names.
[[noreturn]] void rethrow_as_plugin_error(const CallSite& site);

// Returns what `call` returns.
template <class Call>
decltype(auto) guarded(const CallSite& site, Call&& call) {
    const CallScope scope(site);
    try {
        return std::forward<Call>(call)();
    } catch (...) {
        rethrow_as_plugin_error(site);
    }
}

}  // namespace switchyard::runtime
