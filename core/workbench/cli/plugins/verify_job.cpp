#include "core/workbench/cli/plugins/verify_job.h"

#include <algorithm>
#include <utility>

#include "core/kernel/resolver/request_fields.h"
#include "core/workbench/cli/plugins/verify_plugins.h"

namespace switchyard::cli {
namespace {

PlannedPart part_of(const resolver::PlanRow& row) {
    PlannedPart part;
    part.kind = row.use.kind;
    part.plugin = row.chosen->plugin;
    part.id = row.chosen->component;
    part.variant = row.chosen->variant;
    part.options = row.chosen->options;
    part.version = row.chosen->version;
    part.content_hash = row.chosen->content_hash;
    part.library_path = row.chosen->library_path;
    return part;
}

bool same_component(const PlannedPart& a, const PlannedPart& b) {
    return a.kind == b.kind && a.name() == b.name() && a.options == b.options;
}

void add_request(PlannedPart& part, const resolver::PlanRow& row) {
    const auto& asked = row.chosen->request;
    const std::string use =
        row.use.layers + " " + row.use.slot + ", " + std::string(switchyard::name(row.use.phase));
    for (std::size_t i = 0; i < part.requests.size(); ++i) {
        if (!resolver::equal(part.kind, *part.requests[i], *asked)) continue;
        part.uses[i] += "; " + use;
        return;
    }
    part.requests.push_back(asked);
    part.uses.push_back(use);
    part.words.push_back(resolver::use_in_words(part.kind, *row.chosen));
}

}  // namespace

std::unique_ptr<PlannedJob> plan_to_verify(const VerifyRequest& request) {
    PlanOptions options;
    options.restart = Restart::refused;  // it may have read from who asked already
    return plan_job(request.job, options);
}

std::vector<PlannedPart> planned_parts(const resolver::Plan& plan, const VerifyRequest& request) {
    std::vector<PlannedPart> parts;
    plan.for_each_row([&](const resolver::PlanRow& row) {
        if (!row.chosen) return;
        auto part = part_of(row);
        if (!request.plugin.empty() && request.plugin != part.plugin) return;
        if (!is_meant(part.kind, part.id, request.component)) return;
        auto found = std::ranges::find_if(parts, [&](const auto& one) { return same_component(one, part); });
        if (found == parts.end()) found = parts.insert(parts.end(), std::move(part));
        add_request(*found, row);
    });
    return parts;
}

}  // namespace switchyard::cli
