// Candidates that are functions in the test: no plugin, no LibTorch.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/kernel/resolver/resolver.h"

namespace switchyard::test {

template <class R>
using Rule = std::function<void(const R& request, Verdict& verdict)>;

// "plugin/component" that refuses what `rule` rejects.
template <class R>
resolver::Candidate candidate(const std::string& full_name, int priority, Rule<R> rule = {}) {
    resolver::Candidate made;
    const auto slash = full_name.find('/');
    made.plugin = full_name.substr(0, slash);
    made.version = "1.0.0";
    made.manifest.kind = kind_of<R>;
    made.manifest.id = full_name.substr(slash + 1);
    made.manifest.priority = priority;
    made.library_path = "/plugins/lib" + made.plugin + ".so";
    made.content_hash = "hash-of-" + made.plugin;
    made.supports = [rule](const Request& request, const HostInfo&, const Options&, const std::string&) {
        Verdict verdict;
        if (rule) rule(static_cast<const R&>(request), verdict);
        return verdict;
    };
    return made;
}

inline resolver::Candidate unusable(resolver::Candidate made, const std::string& reason) {
    made.usable = false;
    made.obstacle = {Code::Library, "plugin", "", reason, "rebuild it"};
    made.supports = nullptr;
    return made;
}

template <class R>
resolver::SlotUse use(const R& request, std::vector<std::string> backend) {
    resolver::SlotUse made;
    made.kind = kind_of<R>;
    made.slot = name(made.kind);
    made.layers = "encoder.0-5";
    for (std::int64_t i = 0; i < 6; ++i) made.layer_ids.push_back({config::Stack::encoder, i});
    made.phase = request.phase;
    made.request = std::make_shared<R>(request);
    made.config.backend = std::move(backend);
    return made;
}

inline AttentionRequest attention_request(std::int64_t head_dim = 64) {
    AttentionRequest request;
    request.batch = {1, 8};
    request.heads = request.kv_heads = 12;
    request.q_length = request.kv_length = {1, 512};
    request.head_dim = request.v_head_dim = head_dim;
    request.needs_grad = true;
    return request;
}

inline const HostInfo& test_host() {
    static const HostInfo info = [] {
        HostInfo made;
        made.name = "test host";
        return made;
    }();
    return info;
}

inline const resolver::CandidateOutcome& outcome(const resolver::PlanRow& row, const std::string& full_name) {
    for (const auto& each : row.candidates) {
        if (each.plugin + "/" + each.component == full_name) return each;
    }
    throw std::runtime_error("no outcome for " + full_name);
}

}  // namespace switchyard::test
