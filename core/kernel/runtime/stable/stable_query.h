// A request, a host and options as the stable tier has them (stable_abi.h).
#pragma once

#include <string>
#include <variant>
#include <vector>

#include <switchyard/interfaces/host_info.h>
#include <switchyard/interfaces/kinds.h>
#include <switchyard/interfaces/options.h>
#include <switchyard/interfaces/stable_abi.h>
#include <switchyard/interfaces/verdict.h>

namespace switchyard::runtime::stable {

// Borrows all that it is made of.
class StableQuery {
public:
    StableQuery(Kind kind, const Request& request, const HostInfo* host, const Options& options,
                const char* variant);
    StableQuery(const StableQuery&) = delete;
    StableQuery& operator=(const StableQuery&) = delete;

    SwitchyardStableSupports supports(Verdict& verdict) const;
    SwitchyardStableCreate create(void* token) const;

private:
    const void* request() const;

    SwitchyardStableRequest common_{};
    std::variant<SwitchyardStableNormalizationRequest, SwitchyardStableLinearRequest,
                 SwitchyardStableAttentionRequest, SwitchyardStableOptimizerRequest>
        request_;
    std::string algorithm_;
    std::vector<const char*> features_;
    SwitchyardStableHost host_{};
    const SwitchyardStableOptions* options_;
    const char* variant_;
};

// What the stable tier has no words for: rejected without asking the component.
void reject_unstable(Kind kind, const Request& request, Verdict& verdict);

}  // namespace switchyard::runtime::stable
