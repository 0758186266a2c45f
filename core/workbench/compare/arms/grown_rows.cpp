#include "core/workbench/compare/arms/grown_rows.h"

#include "core/workbench/infer/cached_rows.h"
#include "core/workbench/infer/whole_rows.h"

namespace switchyard::compare {

GrownRows make_grown_rows(const train::Session& session, bool cached, std::int64_t length) {
    if (cached) {
        auto rows =
            std::make_unique<infer::CachedRows>(session.config(), session.model(), length,
                                                infer::decoding_graphs(session.config(), session.plan()));
        const auto* const kept = rows.get();
        return {std::move(rows), [kept] { return kept->cache_bytes(); }};
    }
    return {std::make_unique<infer::WholeRows>(session.config(), session.plan(), session.model(), 0),
            [] { return std::int64_t{0}; }};
}

}  // namespace switchyard::compare
