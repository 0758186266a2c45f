#include "core/kernel/config/shadow_checks.h"

#include <algorithm>

#include "core/kernel/config/trainable.h"

namespace switchyard::config {
namespace {

void check_one(const Config& config, Kind kind, std::vector<Mistake>& mistakes) {
    const auto key = shadow_key(kind);
    const auto refuse = [&](bool bad, const std::string& other, const std::string& message,
                            const std::string& expected) {
        if (bad) mistakes.push_back({{key, other}, message, expected});
    };
    const auto& backend = config.slot(kind).shadow.backend;
    refuse(std::ranges::count(backend, "auto") > 0, key,
           "\"auto\" would be what is fastest here: a candidate is named",
           "[plugin/]component[@variant], or a list of them");
    refuse(config.train.cuda_graph, "train.cuda_graph",
           "a step that is replayed from a graph makes no calls that a candidate could make, too",
           "train.cuda_graph = false, or no shadow");
    refuse(config.mesh.tensor > 1, "distributed.mesh.tensor",
           "of layers of which ranks have parts there is no shadow",
           "distributed.mesh.tensor = 1, or no shadow");
    refuse(config.mesh.pipeline > 1, "distributed.mesh.pipeline",
           "of layers that ranks have ranges of there is no shadow",
           "distributed.mesh.pipeline = 1, or no shadow");
    refuse(config.distributed.shard == Sharding::full, "distributed.shard",
           "parameters that are divided over ranks are not there for a candidate",
           "distributed.shard = \"none\", or no shadow");
}

}  // namespace

std::string shadow_key(Kind kind) { return std::string(name(kind)) + ".shadow.backend"; }

bool has_shadow(const Config& config) {
    return std::ranges::any_of(shadowed_kinds, [&](Kind kind) { return config.slot(kind).shadow.on(); });
}

std::vector<Mistake> shadow_mistakes(const Config& config) {
    std::vector<Mistake> mistakes;
    for (const Kind kind : shadowed_kinds) {
        if (config.slot(kind).shadow.on()) check_one(config, kind, mistakes);
    }
    return mistakes;
}

std::string shadow_problem(const Config& config, std::int64_t ranks) {
    if (ranks <= 1) return "";
    for (const Kind kind : shadowed_kinds) {
        if (!config.slot(kind).shadow.on()) continue;
        return told_at(config, shadow_key(kind)) + "the others of " + std::to_string(ranks) +
               " ranks would wait for the candidate; expected one process, or no shadow (--set " +
               shadow_key(kind) + "=[])";
    }
    return "";
}

}  // namespace switchyard::config
