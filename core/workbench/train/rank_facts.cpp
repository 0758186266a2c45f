#include "core/workbench/train/rank_facts.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "core/kernel/base/printable.h"
#include "core/kernel/config/show.h"

namespace switchyard::train {
namespace {

using base::Json;

// Where things are on a host, how its processors are used, and what the first rank does alone.
constexpr std::array<std::string_view, 10> own_affairs{
    "distributed.interface", "log.command",          "log.end_seconds",   "plugins.lock",
    "plugins.paths",         "plugins.trusted_keys", "runtime.allocator", "runtime.spin",
    "runtime.threads",       "train.weights"};  // what they are is compared when they are loaded

bool must_be_alike(const FactChange& change, const RunFacts& facts) {
    if (change.key == "cpu" || std::ranges::find(own_affairs, change.key) != own_affairs.end()) return false;
    return change.counts || !facts.data.contains(change.key);  // a file elsewhere with the same content
}

// As many digits of a hash as tell two files apart.
std::string short_hash(const std::string& hash) { return hash.substr(0, 16); }

}  // namespace

RankFacts facts_at_start(const config::Config& config) {
    RankFacts facts;
    facts.run.config = config::canonical_values(config);
    std::erase_if(facts.run.config, [](const auto& value) { return value.first.starts_with("data."); });
    return facts;
}

std::map<std::string, std::string> plugins_of(const resolver::Plan& plan) {
    std::map<std::string, std::string> plugins;
    plan.for_each_row([&](const resolver::PlanRow& row) {
        if (row.chosen)
            plugins[row.chosen->plugin] =
                row.chosen->version + " with XXH3 " + short_hash(row.chosen->content_hash);
    });
    return plugins;
}

Json to_json(const RankFacts& facts) {
    return {{"program", facts.program},
            {"run", to_json(facts.run)},
            {"plugins", facts.plugins},
            {"plan", facts.plan}};
}

RankFacts rank_facts_from(const Json& json) {
    RankFacts facts{base::text_of(json, "program"),
                    facts_from(base::member(json, "run")),
                    {},
                    base::text_of(json, "plan")};
    for (const auto& [name, build] : base::member(json, "plugins").items())
        if (build.is_string()) facts.plugins[name] = build.get<std::string>();
    return facts;
}

std::string differences(const RankFacts& first, const RankFacts& other, std::int64_t rank) {
    const auto name = "rank " + std::to_string(rank);
    std::string lines;
    const auto add = [&](const std::string& what, const std::string& its, const std::string& of_first) {
        if (its != of_first)
            lines += base::printable(name + " has another " + what + " than rank 0: " + its + " instead of " +
                                     of_first) +
                     "\n";
    };
    add("program", other.program, first.program);
    for (const auto& change : changes_between(first.run, other.run))
        if (must_be_alike(change, other.run)) add(change.key, change.now, change.before);
    for (const auto& [plugin, build] : other.plugins)
        if (const auto found = first.plugins.find(plugin); found != first.plugins.end())
            add("build of the plugin " + plugin, build, found->second);
    if (lines.empty() && other.plan != first.plan)
        lines = name + " runs other components or other samples than rank 0:\n" +
                base::printable_lines(other.plan) + "instead of\n" + base::printable_lines(first.plan);
    return lines;
}

}  // namespace switchyard::train
