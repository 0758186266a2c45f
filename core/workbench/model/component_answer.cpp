#include "core/workbench/model/component_answer.h"

#include <stdexcept>

#include <switchyard/interfaces/activation.h>
#include <switchyard/interfaces/attention.h>
#include <switchyard/interfaces/data_loader.h>
#include <switchyard/interfaces/linear.h>
#include <switchyard/interfaces/loss.h>
#include <switchyard/interfaces/normalization.h>
#include <switchyard/interfaces/optimizer.h>
#include <switchyard/interfaces/precision.h>
#include "core/kernel/runtime/binding.h"

namespace switchyard::model {

std::optional<std::string> component_answer(const resolver::PlanRow& row, runtime::Registry& registry,
                                            const HostInfo& host, std::string_view question) {
    const auto& chosen = *row.chosen;
    const auto loaded = registry.find(row.use.kind, chosen.plugin, chosen.component);
    if (!loaded) throw std::runtime_error("it could not be loaded");
    const runtime::BindingInfo info{row.use.slot, chosen.request, chosen.variant, chosen.options, &host};
    return visit(row.use.kind, [&]<class Traits>(Traits) -> std::optional<std::string> {
        const runtime::Binding<typename Traits::Interface> binding(*loaded, info);
        const char* const answer = binding.answer(question);
        return answer == nullptr ? std::nullopt : std::optional<std::string>(answer);
    });
}

}  // namespace switchyard::model
