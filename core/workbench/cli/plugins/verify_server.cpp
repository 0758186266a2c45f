// switchyard-run verify: the cases of one component, as verify_case.h says. Not for people.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <ext/stdio_filebuf.h>
#include <iostream>
#include <string>
#include <utility>

#include <CLI/CLI.hpp>

#include <switchyard/conformance/verify.h>
#include "core/kernel/base/json_text.h"
#include "core/kernel/base/limits.h"
#include "core/kernel/base/next_line.h"
#include "core/kernel/machine/host_info.h"
#include "core/kernel/runtime/guard.h"
#include "core/kernel/runtime/plugin_library.h"
#include "core/workbench/cli/answer_pipe.h"
#include "core/workbench/cli/command.h"
#include "core/workbench/cli/plugins/verify_case.h"
#include "core/workbench/cli/plugins/verify_job.h"
#include "core/workbench/cli/plugins/verify_options.h"
#include "core/workbench/cli/plugins/verify_plugins.h"
#include "core/workbench/cli/runtime_setup.h"

namespace switchyard::cli {
namespace {

using Json = nlohmann::ordered_json;

// Has a crash tell the component, and in the midst of what it was (crash_handler.h): conformance calls it
// without the core.
class CallInProgress {
public:
    CallInProgress(std::string plugin, std::string component, std::string kind)
        : plugin_(std::move(plugin)),
          component_(std::move(component)),
          kind_(std::move(kind)),
          scope_({plugin_.c_str(), component_.c_str(), text_.data()}) {
        tell("");
    }
    CallInProgress(const CallInProgress&) = delete;
    CallInProgress& operator=(const CallInProgress&) = delete;

    // "forward"; empty: between two calls.
    void tell(const std::string& call) {
        const auto text = call.empty() ? "a case of " + kind_ : kind_ + "." + call;
        text_[text.copy(text_.data(), text_.size() - 1)] = '\0';
    }

private:
    std::string plugin_, component_, kind_;
    std::array<char, 64> text_{};
    runtime::CallScope scope_;
};

class VerifyServer {
public:
    VerifyServer(int asked, const AnswerPipe& answers) : asked_(asked, std::ios::in), answers_(answers) {}

    int run() {
        try {
            verify(read_verify_part(next()));
        } catch (const conformance::DeviceLost& lost) {
            std::cerr << lost.what() << '\n';  // the last words of this process
            std::_Exit(Exit::run_failed);
        } catch (const std::exception& error) {
            answers_.say({{"type", "error"}, {"text", error.what()}});
        }
        next();  // to end
        return all_cases_ran;
    }

private:
    // The next line; where there is none, nobody asks any more.
    Json next() {
        std::string line;
        if (base::next_line(asked_, line, base::limits::json_bytes) != base::Line::whole)
            std::_Exit(Exit::run_failed);
        return base::parse_object(line, "standard input");
    }

    Json news(const conformance::Report& report) {
        auto message = report_message(report, told_);
        told_ = {report.faults.size(), report.support.size()};
        return message;
    }

    void verify(const VerifyPart& part) {
        const auto host = machine::this_host(machine::Look::with_devices);
        auto options = conformance_options(part.request);
        load_device(host, options.device);
        options.first = part.first;
        options.before_case = [this](std::int64_t number, const std::string& name, std::int64_t behind,
                                     const conformance::Report& report) {
            answers_.say({{"type", "case"},
                          {"number", number},
                          {"name", name},
                          {"behind", behind},
                          {"report", news(report)}});
            next();
        };
        if (!part.request.job.config.empty()) return verify_planned(part, options, host);
        runtime::Registry registry(find_plugins(part.request.plugin, host));
        const GivenOptions given(part.request.given,
                                 components_meant(registry.records(), part.request.component));
        for (const auto& record : registry.records()) {
            if (!part.component.starts_with(record.display_name() + "/")) continue;
            for (const auto& component : registry.load(record)) {
                if (component.plugin + "/" + component.manifest->id != part.component ||
                    name(component.manifest->kind) != part.kind)
                    continue;
                return answer({component.plugin, component.entry, component.manifest, &host,
                               given.of(*component.manifest), ""},
                              options);
            }
            if (record.failure() != nullptr) throw Failure(loader::explain(record));
        }
        throw Failure(part.kind + " " + part.component + " is gone");
    }

    void verify_planned(const VerifyPart& part, conformance::VerifyOptions& options, const HostInfo& host) {
        const auto job = plan_to_verify(part.request);
        auto parts = planned_parts(job->plan, part.request);
        if (part.planned >= parts.size() || parts[part.planned].name() != part.component)
            throw Failure(part.request.job.config + ": the plan became another one meanwhile; run it again");
        const auto& planned = parts[part.planned];
        const auto component = job->registry->find(planned.kind, planned.plugin, planned.id);
        if (!component) throw Failure(part.kind + " " + part.component + " is gone");
        options.requests = planned.requests;
        options.asked = part.request.drawn;
        answer(
            {planned.plugin, component->entry, component->manifest, &host, planned.options, planned.variant},
            options);
    }

    void answer(conformance::ComponentUnderTest component, const conformance::VerifyOptions& options) {
        CallInProgress call(component.plugin, component.entry->id, component.entry->kind);
        component.on_call = [&call](const char* name) { call.tell(name); };
        const auto report = conformance::verify(component, options);
        answers_.say({{"type", "done"}, {"report", news(report)}});
    }

    __gnu_cxx::stdio_filebuf<char> asked_;
    const AnswerPipe& answers_;
    Told told_;
};

int serve() {
    const AnswerPipe answers;
    // What is printed can be seen in a file.
    const int printed = ::memfd_create("printed", MFD_CLOEXEC);
    if (printed >= 0) ::dup2(printed, STDOUT_FILENO);
    // A descriptor of its own, which a component that closes the standard input leaves.
    const int asked = ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 100);
    return !answers || asked < 0 ? Exit::run_failed : VerifyServer(asked, answers).run();
}

}  // namespace

Command verify_process_command() {
    return {"verify", "the cases of one component", {"switchyard plugins verify"}, [](CLI::App&) -> Action {
                return serve;
            }};
}

}  // namespace switchyard::cli
