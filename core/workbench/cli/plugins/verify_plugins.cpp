#include "core/workbench/cli/plugins/verify_plugins.h"

#include <algorithm>
#include <utility>

#include "core/kernel/base/printable.h"
#include "core/kernel/config/suggest.h"
#include "core/workbench/cli/job/job.h"
#include "core/workbench/cli/output.h"

namespace switchyard::cli {
namespace {

template <class Enum>
Enum value_of(const std::string& option, const std::string& text) {
    if (const auto value = parse<Enum>(text)) return *value;
    const std::vector<std::string> known(names<Enum>.begin(), names<Enum>.end());
    const auto near = config::suggest(text, known);
    throw Failure(option + " " + base::quoted(text) + ": expected one of " + joined(known) +
                  (near.empty() ? "" : "; did you mean " + near + "?"));
}

}  // namespace

std::vector<loader::PluginRecord> find_plugins(const std::string& wanted, const HostInfo& host) {
    loader::DiscoveryOptions discovery;
    const bool path = wanted.find('/') != std::string::npos;
    if (path) discovery.path.entries = {{wanted, "the command line", true}};
    auto records = loader::discover(discovery, host);
    std::vector<std::string> known;
    for (const auto& record : records) known.push_back(record.display_name());
    if (!path && !wanted.empty())
        std::erase_if(records, [&](const auto& record) { return record.display_name() != wanted; });
    if (!records.empty()) return records;
    const auto near = config::suggest(wanted, known);
    throw Failure(
        (wanted.empty() ? "no plugins were found" : "no plugin is called \"" + base::quoted(wanted) + "\"") +
        (near.empty() ? "" : "; did you mean \"" + near + "\"?") + "\n" + searched_places(discovery.path));
}

bool is_meant(Kind component_kind, const std::string& id, const std::string& wanted) {
    const std::string kind(name(component_kind));
    return wanted.empty() || wanted == kind || wanted == kind + "/" + id;
}

std::vector<const ComponentManifest*> components_meant(const std::vector<loader::PluginRecord>& records,
                                                       const std::string& wanted) {
    std::vector<const ComponentManifest*> meant;
    for (const auto& record : records) {
        if (!record.manifest) continue;
        for (const auto& component : record.manifest->components) {
            if (is_meant(component.kind, component.id, wanted)) meant.push_back(&component);
        }
    }
    return meant;
}

std::vector<VerifyMode> modes_of(const VerifyRequest& request) {
    std::vector<VerifyMode> modes;
    for (const auto& text : request.modes) {
        modes.push_back(value_of<VerifyMode>("--mode", text));
        const bool alone = modes.back() == VerifyMode::speed || modes.back() == VerifyMode::support;
        if (alone && request.modes.size() > 1)
            throw Failure("--mode " + text + ": goes with no other mode; expected it alone");
    }
    return modes;
}

conformance::VerifyOptions conformance_options(const VerifyRequest& request) {
    conformance::VerifyOptions options;
    if (const auto modes = modes_of(request); !modes.empty()) {
        const auto is_asked = [&](VerifyMode mode) { return std::ranges::find(modes, mode) != modes.end(); };
        options.only_ask = is_asked(VerifyMode::support);
        options.checks = {is_asked(VerifyMode::correctness), is_asked(VerifyMode::gradients),
                          is_asked(VerifyMode::robustness)};
    }
    options.drawn = request.drawn;
    options.drawn_seed = request.seed;
    options.device = value_of<Device>("--device", request.device);
    options.filter = request.filter;
    if (!request.dtypes.empty()) options.dtypes.clear();
    for (const auto& text : request.dtypes) options.dtypes.push_back(value_of<DType>("--dtype", text));
    return options;
}

}  // namespace switchyard::cli
