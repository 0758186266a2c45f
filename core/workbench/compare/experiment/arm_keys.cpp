#include "core/workbench/compare/experiment/arm_keys.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <optional>
#include <string_view>

#include "core/kernel/base/printable.h"

namespace switchyard::compare {
namespace {

constexpr std::string_view ranks_key = "ranks=", slowed_key = "slowed=";
constexpr std::int64_t most_ranks = 1024;
constexpr double most_slowed = 1000.0;  // percent

// nullopt: it is not one, or not within these.
template <class Number>
std::optional<Number> number_within(std::string_view word, Number least, Number most) {
    Number value{};
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (error != std::errc() || end != word.data() + word.size()) return std::nullopt;
    return value >= least && value <= most ? std::optional(value) : std::nullopt;
}

std::string expected(const std::string& what, std::string_view got) {
    return what + ", got '" + base::quoted(std::string(got)) + "'";
}

}  // namespace

std::vector<std::string> without_arm_keys(const std::vector<std::string>& overrides) {
    std::vector<std::string> rest;
    std::ranges::copy_if(overrides, std::back_inserter(rest), [](const std::string& one) {
        return !one.starts_with(ranks_key) && !one.starts_with(slowed_key);
    });
    return rest;
}

std::string read_arm_keys(ArmSpec& arm) {
    for (const std::string_view one : arm.overrides) {
        if (one.starts_with(ranks_key)) {
            const auto word = one.substr(ranks_key.size());
            const auto ranks = number_within<std::int64_t>(word, 1, most_ranks);
            arm.ranks = ranks.value_or(1);
            if (!ranks)
                return expected(
                    "ranks: expected a number of processes from 1 to " + std::to_string(most_ranks), word);
        } else if (one.starts_with(slowed_key)) {
            const auto word = one.substr(slowed_key.size());
            const auto percent = number_within<double>(word, 0.0, most_slowed);
            arm.slowed = percent.value_or(0.0) / 100.0;
            if (!percent) return expected("slowed: expected percent of a step from 0 to 1000", word);
        }
    }
    return "";
}

}  // namespace switchyard::compare
