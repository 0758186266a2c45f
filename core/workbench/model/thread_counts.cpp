#include "core/workbench/model/thread_counts.h"

#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include <switchyard/interfaces/activation.h>
#include <switchyard/interfaces/attention.h>
#include <switchyard/interfaces/component_property.h>
#include <switchyard/interfaces/data_loader.h>
#include <switchyard/interfaces/linear.h>
#include <switchyard/interfaces/loss.h>
#include <switchyard/interfaces/normalization.h>
#include <switchyard/interfaces/optimizer.h>
#include <switchyard/interfaces/precision.h>
#include "core/kernel/base/joined.h"
#include "core/kernel/runtime/binding.h"

namespace switchyard::model {
namespace {

constexpr const char* silent = "it does not say that they are the same with any number of threads";

// Empty: the bits are the same.
std::string why_not(const resolver::PlanRow& row, const runtime::LoadedComponent& loaded,
                    const HostInfo& host) {
    const auto& chosen = *row.chosen;
    const runtime::BindingInfo info{row.use.slot, chosen.request, chosen.variant, chosen.options, &host};
    return visit(row.use.kind, [&]<class Traits>(Traits) -> std::string {
        const runtime::Binding<typename Traits::Interface> binding(loaded, info);
        const char* const answer = binding.answer(thread_counts_property);
        return answer == nullptr ? silent : answer;
    });
}

std::string reason_of(const resolver::PlanRow& row, runtime::Registry& registry, const HostInfo& host) {
    const auto& chosen = *row.chosen;
    try {
        const auto loaded = registry.find(row.use.kind, chosen.plugin, chosen.component);
        if (!loaded) return "it could not be loaded, and so not be asked";
        if (auto reason = why_not(row, *loaded, host); !reason.empty()) return reason;
    } catch (const std::exception& error) {
        return std::string("it could not be asked: ") + error.what();
    }
    if (chosen.composed.empty()) return "";
    return "what the core does around it (" + base::joined(chosen.composed) +
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
