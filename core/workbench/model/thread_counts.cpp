#include "core/workbench/model/thread_counts.h"

#include <exception>
#include <string>

#include <switchyard/interfaces/component_property.h>
#include "core/kernel/base/joined.h"
#include "core/workbench/model/component_answer.h"

namespace switchyard::model {
namespace {

constexpr const char* silent = "it does not say that they are the same with any number of threads";

// Empty: the bits are the same.
std::string reason_of(const resolver::PlanRow& row, runtime::Registry& registry, const HostInfo& host) {
    try {
        auto reason = component_answer(row, registry, host, thread_counts_property).value_or(silent);
        if (!reason.empty()) return reason;
    } catch (const std::exception& error) {
        return std::string("it could not be asked: ") + error.what();
    }
    if (row.chosen->composed.empty()) return "";
    return "what the core does around it (" + base::joined(row.chosen->composed) +
           ") is summed up by LibTorch's operators";
}

}  // namespace

void note_thread_counts(resolver::Plan& plan, runtime::Registry& registry, const HostInfo& host) {
    for (auto& row : plan.rows) {
        // Loaders and policies sum nothing up.
        const bool sums = row.use.kind != Kind::data_loader && row.use.kind != Kind::precision;
        if (!row.chosen || !sums || row.chosen->request->device != Device::cpu) continue;
        const auto reason = reason_of(row, registry, host);
        if (!reason.empty()) row.notes.push_back("bits depend on runtime.threads: " + reason);
    }
}

}  // namespace switchyard::model
