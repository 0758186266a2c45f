#include "core/kernel/resolver/compose.h"

#include <algorithm>

#include <switchyard/interfaces/kinds.h>

namespace switchyard::resolver {
namespace {

template <class R>
struct Part {
    const char* name;
    bool present;
    void (*strip)(R& request);  // takes it off
};
template <class R>
using Parts = std::vector<Part<R>>;

Parts<NormalizationRequest> parts_of(const NormalizationRequest& r) {
    return {{"bias", r.input_bias, [](auto& q) { q.input_bias = false; }},
            {"dropout", r.dropout > 0, [](auto& q) { q.dropout = 0.0; }},
            {"residual", r.residual, [](auto& q) { q.residual = false; }}};
}

Parts<ActivationRequest> parts_of(const ActivationRequest& r) {
    return {{"bias", r.input_bias, [](auto& q) { q.input_bias = false; }},
            {"dropout", r.dropout > 0, [](auto& q) { q.dropout = 0.0; }}};
}

Parts<LossRequest> parts_of(const LossRequest& r) {
    return {{"projection", r.projection, [](auto& q) {
                 q.projection = q.projection_bias = false;
                 q.width = 0;
                 q.may_overwrite_logits = q.needs_grad;  // they are made for it alone
             }}};
}

Parts<OptimizerRequest> parts_of(const OptimizerRequest& r) {
    return {{"unscale", r.unscale, [](auto& q) { q.unscale = false; }},
            {"clip", r.clip, [](auto& q) { q.clip = false; }}};
}

// Pages are put together into a padded batch, whose rows are of several lengths and end with their queries.
Parts<AttentionRequest> parts_of(const AttentionRequest& r) {
    return {{"pages", r.paged_cache && r.layout == Layout::padded, [](auto& q) {
                 q.paged_cache = false;
                 q.masks.insert(MaskKind::key_lengths);
                 q.query_offsets = true;
             }}};
}
Parts<PrecisionRequest> parts_of(const PrecisionRequest&) { return {}; }
Parts<DataLoaderRequest> parts_of(const DataLoaderRequest&) { return {}; }
Parts<LinearRequest> parts_of(const LinearRequest&) { return {}; }

// Is the work that stays with the component still one piece? In a chain the core can only take the first
// parts; what it does to an activation stands on both sides of it.
bool allowed(Kind kind, unsigned taken, std::size_t count) {
    if (kind == Kind::activation) return true;
    for (std::size_t i = 1; i < count; ++i) {
        if ((taken >> i & 1U) != 0 && (taken >> (i - 1) & 1U) == 0) return false;
    }
    return true;
}

template <class R>
std::vector<Narrowing> narrowings_of(const R& request) {
    auto parts = parts_of(request);
    std::erase_if(parts, [](const auto& part) { return !part.present; });
    std::vector<Narrowing> list;
    for (unsigned taken = 0; taken < 1U << parts.size(); ++taken) {
        if (!allowed(kind_of<R>, taken, parts.size())) continue;
        Composed names;
        const auto narrow = std::make_shared<R>(request);
        for (std::size_t i = 0; i < parts.size(); ++i) {
            if ((taken >> i & 1U) == 0) continue;
            names.emplace_back(parts[i].name);
            parts[i].strip(*narrow);
        }
        list.push_back({std::move(names), narrow});
    }
    std::stable_sort(list.begin(), list.end(),
                     [](const Narrowing& a, const Narrowing& b) { return a.parts.size() < b.parts.size(); });
    return list;
}

}  // namespace

std::vector<Narrowing> narrowings(Kind kind, const std::shared_ptr<const Request>& request) {
    auto list = visit(kind, [&](auto traits) { return narrowings_of(traits.request(*request)); });
    list.front().request = request;  // nothing taken off: the request as it is
    return list;
}

}  // namespace switchyard::resolver
