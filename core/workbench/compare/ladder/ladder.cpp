#include "core/workbench/compare/ladder/ladder.h"

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "core/kernel/base/joined.h"
#include "core/kernel/base/number_text.h"
#include "core/kernel/config/override.h"
#include "core/workbench/report/number_text.h"

namespace switchyard::compare {
namespace {

bool have_one_key(const std::string& value, const std::string& other) {
    return config::override_key(value) == config::override_key(other);
}

void put(std::vector<std::string>& values, const std::string& value) {
    std::erase_if(values, [&](const std::string& old) { return have_one_key(old, value); });
    values.push_back(value);
}

std::string divided(const std::string& value, std::int64_t divisor) {
    constexpr std::string_view key = "batch.size=";
    if (divisor == 1 || !value.starts_with(key)) return value;
    std::int64_t size = 0;
    const char* const end = value.data() + value.size();
    if (std::from_chars(value.data() + key.size(), end, size).ptr != end) return value;
    return std::string(key) + std::to_string(std::max<std::int64_t>(1, size / divisor));
}

}  // namespace

std::string learning_rate_text(double value) { return report::short_scientific(value, 3); }

std::string Published::text() const {
    std::string list;
    if (samples_per_second) base::add_item(list, base::digits(*samples_per_second) + " samples/s");
    if (tokens_per_second) base::add_item(list, base::digits(*tokens_per_second) + " tokens/s");
    if (speedup) base::add_item(list, base::digits(*speedup) + " times");
    if (memory_gb) base::add_item(list, base::digits(*memory_gb) + " GB");
    if (batch) base::add_item(list, "batch " + std::to_string(*batch));
    if (learning_rate) base::add_item(list, "lr " + learning_rate_text(*learning_rate));
    return list;
}

std::string Ladder::folder() const {
    const auto folder = std::filesystem::path(file).parent_path();
    return folder.empty() ? "." : folder.string();
}

std::string Ladder::config_file() const {
    return (std::filesystem::path(folder()) / config).lexically_normal().string();
}

std::optional<std::size_t> Ladder::find(const std::string& name) const {
    const auto found = std::ranges::find(rungs, name, &Rung::name);
    if (found == rungs.end()) return std::nullopt;
    return static_cast<std::size_t>(found - rungs.begin());
}

std::optional<std::size_t> Ladder::parent(std::size_t rung) const {
    return rungs[rung].on.empty() ? std::nullopt : find(rungs[rung].on);
}

void Ladder::leave_out(const std::vector<std::string>& given) {
    const auto is_given = [&](const std::string& value) {
        return std::ranges::any_of(given, [&](const std::string& one) { return have_one_key(one, value); });
    };
    std::erase_if(set, is_given);
    for (auto& [name, scale] : scales) std::erase_if(scale.set, is_given);
}

std::string Ladder::heading(const std::string& scale) const {
    const auto found = scales.find(scale);
    if (found == scales.end()) return title;
    auto changes = base::joined(found->second.set);
    if (const auto divisor = found->second.batch_divisor; divisor > 1)
        base::add_item(changes, "batches divided by " + std::to_string(divisor));
    return title + "; changed by --scale " + scale + (changes.empty() ? "" : ": " + changes);
}

int Ladder::depth(std::size_t rung) const {
    int depth = 0;
    for (auto at = parent(rung); at; at = parent(*at)) ++depth;
    return depth;
}

std::vector<std::string> Ladder::values(std::size_t rung, const LadderScale* scale) const {
    std::vector<std::size_t> way{rung};
    for (auto at = parent(rung); at; at = parent(*at)) way.push_back(*at);
    std::vector<std::string> values;
    for (const auto& value : set) put(values, value);
    if (scale != nullptr) {
        for (const auto& value : scale->set) put(values, value);
    }
    for (auto at = way.rbegin(); at != way.rend(); ++at) {
        for (const auto& value : rungs[*at].set)
            put(values, scale == nullptr ? value : divided(value, scale->batch_divisor));
    }
    return values;
}

std::vector<ArmSpec> ladder_arms(const Ladder& ladder, const LadderScale* scale) {
    std::vector<ArmSpec> arms;
    for (std::size_t at = 0; at < ladder.rungs.size(); ++at) {
        const auto& rung = ladder.rungs[at];
        auto& arm = arms.emplace_back();
        arm.name = rung.name;
        arm.written_in = ladder.file;
        arm.overrides = ladder.values(at, scale);
        arm.program = rung.program;
        arm.folder = ladder.folder();
    }
    return arms;
}

}  // namespace switchyard::compare
