#include "core/kernel/resolver/compose.h"

#include <algorithm>

#include "core/kernel/resolver/request_fields.h"

namespace switchyard::resolver {
namespace {

// Takes one part off the request.
using Strip = void (*)(Request&);
struct Part {
    const char* name;
    bool present;
    Strip strip;
};

std::vector<Part> parts_of(Kind kind, const Request& request) {
    switch (kind) {
        case Kind::normalization: {
            const auto& r = static_cast<const NormalizationRequest&>(request);
            return {{"bias", r.input_bias,
                     [](Request& q) { static_cast<NormalizationRequest&>(q).input_bias = false; }},
                    {"dropout", r.dropout > 0,
                     [](Request& q) { static_cast<NormalizationRequest&>(q).dropout = 0.0; }},
                    {"residual", r.residual,
                     [](Request& q) { static_cast<NormalizationRequest&>(q).residual = false; }}};
        }
        case Kind::activation: {
            const auto& r = static_cast<const ActivationRequest&>(request);
            return {{"bias", r.input_bias,
                     [](Request& q) { static_cast<ActivationRequest&>(q).input_bias = false; }},
                    {"dropout", r.dropout > 0,
                     [](Request& q) { static_cast<ActivationRequest&>(q).dropout = 0.0; }}};
        }
        case Kind::loss: {
            const auto& r = static_cast<const LossRequest&>(request);
            return {{"projection", r.projection, [](Request& q) {
                         auto& loss = static_cast<LossRequest&>(q);
                         loss.projection = loss.projection_bias = false;
                         loss.width = 0;
                         loss.may_overwrite_logits = loss.needs_grad;  // they are made for it alone
                     }}};
        }
        case Kind::optimizer: {
            const auto& r = static_cast<const OptimizerRequest&>(request);
            return {
                {"unscale", r.unscale, [](Request& q) { static_cast<OptimizerRequest&>(q).unscale = false; }},
                {"clip", r.clip, [](Request& q) { static_cast<OptimizerRequest&>(q).clip = false; }}};
        }
        default:
            return {};
    }
}

// Is the work that stays with the component still one piece? In a chain the core can only take the first
// parts; what it does to an activation stands on both sides of it.
bool allowed(Kind kind, unsigned taken, std::size_t count) {
    if (kind == Kind::activation) return true;
    for (std::size_t i = 1; i < count; ++i) {
        if ((taken >> i & 1U) != 0 && (taken >> (i - 1) & 1U) == 0) return false;
    }
    return true;
}

}  // namespace

std::vector<Narrowing> narrowings(Kind kind, const std::shared_ptr<const Request>& request) {
    auto parts = parts_of(kind, *request);
    std::erase_if(parts, [](const Part& part) { return !part.present; });
    std::vector<Narrowing> list;
    for (unsigned taken = 0; taken < 1U << parts.size(); ++taken) {
        if (!allowed(kind, taken, parts.size())) continue;
        Narrowing narrowing{{}, request};
        const auto narrow = clone(kind, *request);
        for (std::size_t i = 0; i < parts.size(); ++i) {
            if ((taken >> i & 1U) == 0) continue;
            narrowing.parts.emplace_back(parts[i].name);
            parts[i].strip(*narrow);
        }
        if (taken != 0) narrowing.request = narrow;
        list.push_back(std::move(narrowing));
    }
    std::stable_sort(list.begin(), list.end(),
                     [](const Narrowing& a, const Narrowing& b) { return a.parts.size() < b.parts.size(); });
    return list;
}

}  // namespace switchyard::resolver
