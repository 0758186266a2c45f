#include "core/kernel/trust/judge.h"

#include <algorithm>
#include <filesystem>
#include <optional>

#include "core/kernel/base/input_error.h"
#include "core/kernel/base/limits.h"
#include "core/kernel/base/printable.h"
#include "core/kernel/base/read_text.h"
#include "core/kernel/base/shell_text.h"
#include "core/kernel/trust/own_plugin.h"

namespace switchyard::trust {

using loader::Gate;
using loader::GateOutcome;
using loader::PluginRecord;
using loader::Verification;

namespace {

// A record that counts for a plugin, or why the one that lies beside it does not.
struct KnownRecord {
    std::optional<ConformanceRecord> record;
    std::string why_not;
};

const ComponentOutcome* find_in(const std::optional<ConformanceRecord>& record,
                                const ComponentManifest& component, Device device) {
    return record ? record->find(component.kind, component.id, device) : nullptr;
}

class Judgement {
public:
    Judgement(const Demands& demands, const PluginRecord& plugin)
        : demands_(demands), plugin_(plugin), own_(is_own_plugin(plugin.path, plugin.manifest->name)) {}

    bool own() const { return own_; }

    const SignatureCheck& signature() {
        if (!signature_) signature_ = check_signature(plugin_.path, *plugin_.manifest, demands_.keys);
        return *signature_;
    }

    // Of this user's own runs.
    const std::optional<ConformanceRecord>& remembered() {
        if (!remembered_) remembered_ = RecordCache(demands_.cache).find(content());
        return *remembered_;
    }

    // Beside the library. It counts for what the user has not run.
    const KnownRecord& shipped() {
        if (!shipped_) shipped_ = look_up_shipped();
        return *shipped_;
    }

    const ComponentOutcome* outcome(const ComponentManifest& component) {
        if (const auto* const own = find_in(remembered(), component, demands_.device)) return own;
        return find_in(shipped().record, component, demands_.device);
    }

    std::vector<loader::VerifiedUse> uses(const ComponentManifest& component) {
        std::vector<loader::VerifiedUse> found;
        const auto add_those_of = [&](const std::optional<ConformanceRecord>& record) {
            if (!record) return;
            for (const auto& one : record->components) {
                if (one.kind != component.kind || one.id != component.id || one.device != demands_.device ||
                    one.use.empty())
                    continue;
                const bool known = std::any_of(found.begin(), found.end(),
                                               [&](const auto& other) { return other.use == one.use; });
                if (!known) found.push_back({one.use, one.passed});
            }
        };
        add_those_of(remembered());
        add_those_of(shipped().record);
        return found;
    }

private:
    const PluginContent& content() {
        if (!content_) content_ = content_of(plugin_.path);
        return *content_;
    }

    KnownRecord look_up_shipped() {
        const auto file = shipped_record_of(plugin_.path);
        std::error_code ignored;
        if (!std::filesystem::exists(file, ignored)) return {};
        const auto text = base::text_if_readable(file, base::limits::json_bytes);
        const std::string begin = "the record beside it does not count: ";
        if (!signature().good) return {{}, begin + signature().reason};
        if (signature().record != sha256_of(text))
            return {{},
                    begin + "the signature covers " + (signature().record.empty() ? "none" : "another one") +
                        ", sign the plugin again"};
        try {
            auto shipped = read_record(text, file);
            if (shipped.content != content())
                return {{}, begin + "it is one of another content of the library"};
            if (shipped.host != host_version())
                return {
                    {},
                    begin + "it was made by " + base::quoted(shipped.host) + ", this is " + host_version()};
            return {std::move(shipped), {}};
        } catch (const base::InputError& problem) {
            return {{}, begin + problem.what()};
        }
    }

    const Demands& demands_;
    const PluginRecord& plugin_;
    bool own_;
    std::optional<SignatureCheck> signature_;
    std::optional<PluginContent> content_;
    std::optional<std::optional<ConformanceRecord>> remembered_;
    std::optional<KnownRecord> shipped_;
};

bool demanded(const Demands& demands, config::Demand demand) {
    return std::find(demands.require.begin(), demands.require.end(), demand) != demands.require.end();
}

GateOutcome not_conformant(const PluginRecord& record, const ComponentManifest& component,
                           const ComponentOutcome* outcome, const std::string& why_not, Device device) {
    const auto command = [&](const std::string& more) {
        return "`switchyard plugins verify " + base::shell_word(record.path) +
               (device == Device::cpu ? "" : " --device " + std::string(name(device))) + more + "` ";
    };
    if (outcome != nullptr) {
        // Fewer cases than found it need not have it, and do not refute it (add_outcome).
        const auto repeated =
            " --component " + base::shell_word(std::string(name(component.kind)) + "/" + component.id) +
            " --seed " + std::to_string(outcome->seed) +
            (outcome->drawn > drawn_by_default ? " --drawn " + std::to_string(outcome->drawn) : "");
        return loader::refused(
            Gate::trust, "`switchyard plugins verify` found a fault in it: " + base::quoted(outcome->fault),
            "conformant (plugins.require)", {}, command(repeated) + "repeats it");
    }
    return loader::refused(Gate::trust,
                           "no run of conformance is known for " + std::string(name(component.kind)) + " " +
                               component.id + " on " + std::string(name(device)) +
                               (why_not.empty() ? "" : "; " + why_not),
                           "conformant (plugins.require)", "unverified", command("") + "runs it");
}

loader::ComponentTrust trust_in(const Demands& demands, const PluginRecord& record, Judgement& judgement,
                                const ComponentManifest& component) {
    loader::ComponentTrust trust{component.kind, component.id, Verification::own, {}, std::nullopt};
    if (judgement.own()) return trust;
    trust.uses = judgement.uses(component);
    const auto* const outcome = judgement.outcome(component);
    const bool passed = outcome != nullptr && outcome->passed;
    trust.verification = passed ? Verification::passed : Verification::unverified;
    if (!passed && demanded(demands, config::Demand::conformance))
        trust.refusal =
            not_conformant(record, component, outcome, judgement.shipped().why_not, demands.device);
    return trust;
}

}  // namespace

GateOutcome judge(const Demands& demands, PluginRecord& record) {
    Judgement judgement(demands, record);
    if (demanded(demands, config::Demand::signature) && !judgement.own()) {
        const auto& check = judgement.signature();
        if (!check.good)
            return loader::refused(Gate::trust, check.reason,
                                   check.expected.empty() ? "signed (plugins.require)" : check.expected,
                                   check.got, check.hint);
    }
    if (demanded(demands, config::Demand::lock) && demands.lock != nullptr) {
        if (auto differs = difference(*demands.lock, record)) return *differs;
    }
    for (const auto& component : record.manifest->components)
        record.trust.push_back(trust_in(demands, record, judgement, component));
    return loader::passed(Gate::trust);
}

std::string standing_of(const Demands& demands, const PluginRecord& record) {
    Judgement judgement(demands, record);
    if (judgement.own()) return "comes with this program";
    const auto& signature = judgement.signature();
    std::string text = signature.good ? "signed by " + signature.signer : signature.reason;
    std::size_t passed = 0;
    const auto& components = record.manifest->components;
    for (const auto& component : components) {
        const auto* const outcome = judgement.outcome(component);
        passed += outcome != nullptr && outcome->passed ? 1 : 0;
    }
    if (passed == 0) return text + "; unverified";
    return text + "; verified on " + std::string(name(demands.device)) + ": " + std::to_string(passed) +
           " of " + std::to_string(components.size()) +
           (components.size() == 1 ? " component" : " components");
}

}  // namespace switchyard::trust
