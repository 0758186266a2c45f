// The nearest request that a component would serve: what a user could change.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <switchyard/interfaces/kinds.h>
#include <switchyard/interfaces/verdict.h>

namespace switchyard::resolver {

using Ask = std::function<std::vector<Reason>(const std::shared_ptr<const Request>&)>;  // empty: served

// In words: "head_dim 64 instead of 60; dropout 0 instead of 0.1". Tries one change, then two, then one for
// each field that fails, at first of the fields that `reasons` name, then of all. nullopt: nothing that was
// tried is served, as when the host lacks something.
std::optional<std::string> nearest_request(Kind kind, const std::shared_ptr<const Request>& request,
                                           const std::vector<Reason>& reasons, const Ask& ask);

}  // namespace switchyard::resolver
