#include "core/kernel/config/toml_table.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include "core/kernel/base/joined.h"
#include "core/kernel/base/printable.h"
#include "core/kernel/config/check_value.h"
#include "core/kernel/config/guard_text.h"
#include "core/kernel/config/suggest.h"

namespace switchyard::config {

using config::Node;
using config::Problem;

namespace {

bool is_name(const std::string& text) {
    return !text.empty() && text.size() <= 64 && std::islower(static_cast<unsigned char>(text[0])) != 0 &&
           std::all_of(text.begin(), text.end(), [](unsigned char c) {
               return std::islower(c) || std::isdigit(c) || c == '_' || c == '-' || c == '.';
           });
}

bool is_one_line(const std::string& text) { return !text.empty() && base::printable(text) == text; }

}  // namespace

const TextRule a_name{is_name, "a name: lower-case letters, digits, '_', '-', '.', beginning with a letter"};
const TextRule a_line{is_one_line, "a text of one line"};

void TomlReport::add(const config::Place& place, const std::string& key, const std::string& message,
                     const std::string& expected, const std::string& hint) {
    problems_.push_back({.file = file_,
                         .line = place.line,
                         .column = place.column,
                         .key = key,
                         .message = message,
                         .expected = expected,
                         .hint = hint,
                         .source = config::line_for_display(text_, place.line)});
}

std::vector<Problem> TomlReport::sorted() && {
    std::stable_sort(problems_.begin(), problems_.end(), [](const Problem& a, const Problem& b) {
        return std::pair(a.line, a.column) < std::pair(b.line, b.column);
    });
    return std::move(problems_);
}

const Node* TomlTable::find(const std::string& key) {
    if (std::find(known_.begin(), known_.end(), key) == known_.end()) known_.push_back(key);
    const auto found = std::find_if(node_.children.begin(), node_.children.end(),
                                    [&](const Node& child) { return child.name == key; });
    return found == node_.children.end() ? nullptr : &*found;
}

const Node* TomlTable::require(const std::string& key, const std::string& expected) {
    const Node* node = find(key);
    if (node == nullptr) report_.add(place_, prefix_ + key, "is missing", expected);
    return node;
}

void TomlTable::wrong(const Node& node, const std::string& key, const std::string& expected,
                      const std::string& hint) {
    report_.add(node.place, prefix_ + key, "is " + config::describe(node), expected, hint);
}

void TomlTable::conflict(const Node& node, const std::string& key, const std::string& message,
                         const std::string& hint) {
    report_.add(node.place, prefix_ + key, message, {}, hint);
}

std::string TomlTable::text(const std::string& key, const TextRule& rule) {
    const Node* node = require(key, rule.expected);
    if (node == nullptr) return {};
    const auto* value = std::get_if<std::string>(&node->scalar);
    if (value != nullptr && rule.holds(*value)) return *value;
    wrong(*node, key, rule.expected);
    return {};
}

std::optional<config::Value> TomlTable::check(const Node& node, const std::string& key,
                                              const ValueSpec& spec) {
    return config::check_value(
        spec, node, key,
        [this](const Node& part, const std::string& part_key, const std::string& expected,
               const std::string& hint) { wrong(part, part_key, expected, hint); });
}

std::optional<config::Value> TomlTable::value(const std::string& key, const ValueSpec& spec, bool required) {
    const Node* node = required ? require(key, config::expected_text(spec)) : find(key);
    return node == nullptr ? std::nullopt : check(*node, key, spec);
}

std::optional<double> TomlTable::number(const std::string& key, const ValueLimits& limits) {
    const auto found = value(key, {.type = ValueType::number, .limits = limits}, false);
    return found ? std::optional(std::get<double>(*found)) : std::nullopt;
}

std::int64_t TomlTable::integer(const std::string& key, std::int64_t low, std::int64_t high,
                                std::optional<std::int64_t> standard) {
    const ValueLimits limits{.min = static_cast<double>(low), .max = static_cast<double>(high)};
    const auto found = value(key, {.type = ValueType::integer, .limits = limits}, !standard);
    return found ? std::get<std::int64_t>(*found) : standard.value_or(low);
}

std::vector<std::string> TomlTable::list(const std::string& key, const TextRule& rule) {
    std::vector<std::string> result;
    const Node* node = find(key);
    if (node == nullptr || !check(*node, key, {.type = ValueType::list})) return result;
    for (const Node& member : node->children) {
        const auto& text = std::get<std::string>(member.scalar);
        if (!rule.holds(text)) {
            wrong(member, key, rule.expected);
        } else if (std::find(result.begin(), result.end(), text) != result.end()) {
            conflict(member, key, "has '" + text + "' twice");
        } else {
            result.push_back(text);
        }
    }
    return result;
}

void TomlTable::finish() {
    for (const Node& child : node_.children) {
        if (std::find(known_.begin(), known_.end(), child.name) != known_.end()) continue;
        const std::string hint = config::did_you_mean(config::suggest(child.name, known_));
        report_.add(child.name_place, prefix_ + child.name, "unknown key",
                    hint.empty() ? "one of " + base::joined(known_) : "", hint);
    }
}

}  // namespace switchyard::config
