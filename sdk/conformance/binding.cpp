#include <switchyard/conformance/binding.h>

#include <mutex>
#include <stdexcept>
#include <utility>

namespace switchyard::conformance {
namespace {

std::mutex executed_mutex;  // kernels may count from threads of their own

void count(void* token, const char* variant) {
    const std::lock_guard lock(executed_mutex);
    static_cast<std::vector<std::string>*>(token)->emplace_back(variant == nullptr ? "" : variant);
}

const SwitchyardServices services{sizeof(SwitchyardServices), &count, [](int, const char*, const char*) {}};

}  // namespace

Verdict ask(const ComponentUnderTest& component, const Request& request) {
    static const HostInfo no_host;
    Verdict verdict;
    const SwitchyardSupports arguments{sizeof(SwitchyardSupports),
                                       &request,
                                       component.host == nullptr ? &no_host : component.host,
                                       &component.options,
                                       component.variant.c_str(),
                                       &verdict};
    try {
        const CallNote note(component.on_call, "supports");
        component.entry->supports(&arguments);
    } catch (...) {
        verdict.reject(Code::Internal, "supports", "an answer", current_exception_text());
    }
    return verdict;
}

Binding::Binding(const ComponentUnderTest& component, std::shared_ptr<const Request> request)
    : entry_(component.entry), on_call_(component.on_call), request_(std::move(request)) {
    info_.request = request_.get();
    info_.variant = component.variant;
    info_.options = component.options;
    info_.host = component.host;
    info_.services = &services;
    info_.token = &executed_;
    made_ = called("create", [&] { return entry_->create(&info_); });
    if (made_ == nullptr) throw std::runtime_error("create returned nothing");
}

Binding::~Binding() {
    called("destroy", [&] { entry_->destroy(made_); });
}

std::vector<std::string> Binding::take_executed() {
    const std::lock_guard lock(executed_mutex);
    return std::exchange(executed_, {});
}

std::string current_exception_text() {
    try {
        throw;
    } catch (const std::exception& error) {
        // LibTorch appends where in its own sources it was raised.
        const std::string text = error.what();
        return text.substr(0, text.find("\nException raised from"));
    } catch (...) {
        return "something that is no std::exception";
    }
}

}  // namespace switchyard::conformance
