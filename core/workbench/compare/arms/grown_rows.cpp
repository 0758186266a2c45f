#include "core/workbench/compare/arms/grown_rows.h"

#include "core/workbench/infer/cached_rows.h"
#include "core/workbench/infer/whole_rows.h"

namespace switchyard::compare {

model::CacheLimits cache_limits(const Workload& workload, const config::Config& config) {
    const bool encoder = config.task.kind == config::TaskKind::seq2seq;
    model::CacheLimits limits;
    limits.rows = workload.batch;
    limits.length = workload.longest_row(encoder);
    if (encoder) limits.source = workload.lengths.max;
    return limits;
}

GrownRows make_grown_rows(const train::Session& session, bool cached, const model::CacheLimits& limits) {
    if (cached) {
        auto rows =
            std::make_unique<infer::CachedRows>(session.config(), session.model(), limits,
                                                infer::decoding_graphs(session.config(), session.plan()));
        const auto* const kept = rows.get();
        return {std::move(rows), [kept] { return kept->cache_bytes(); }};
    }
    return {std::make_unique<infer::WholeRows>(session.config(), session.plan(), session.model(), 0),
            [] { return std::int64_t{0}; }};
}

}  // namespace switchyard::compare
