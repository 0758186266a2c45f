// Wide operations from narrower ones: which parts the core can do itself around a component.
#pragma once

#include <memory>
#include <vector>

#include "core/kernel/resolver/plan.h"

namespace switchyard::resolver {

struct Narrowing {
    Composed parts;                          // what the core does; empty: nothing, the request as it is
    std::shared_ptr<const Request> request;  // what is left for the component
};

// The request as it is, then narrower ones, fewest parts first. norm(residual + dropout(x + bias)) can only
// be cut from the inside out (bias, then dropout, then residual), act(x + bias) with dropout on either side.
std::vector<Narrowing> narrowings(Kind kind, const std::shared_ptr<const Request>& request);

}  // namespace switchyard::resolver
