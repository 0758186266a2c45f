#include "core/kernel/config/toml_table.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include "core/kernel/base/joined.h"
#include "core/kernel/base/printable.h"
#include "core/kernel/config/guard_text.h"
#include "core/kernel/config/suggest.h"

namespace switchyard::host {

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

std::optional<double> TomlTable::number(const std::string& key) {
    const Node* node = find(key);
    if (node == nullptr) return std::nullopt;
    if (const auto* integer = std::get_if<std::int64_t>(&node->scalar)) return static_cast<double>(*integer);
    if (const auto* value = std::get_if<double>(&node->scalar)) return *value;
    wrong(*node, key, "a number");
    return std::nullopt;
}

std::int64_t TomlTable::integer(const std::string& key, std::int64_t low, std::int64_t high,
                                std::optional<std::int64_t> standard) {
    const std::string expected = "an integer from " + std::to_string(low) + " to " + std::to_string(high);
    const Node* node = standard ? find(key) : require(key, expected);
    if (node == nullptr) return standard.value_or(low);
    const auto* value = std::get_if<std::int64_t>(&node->scalar);
    if (value != nullptr && *value >= low && *value <= high) return *value;
    wrong(*node, key, expected);
    return low;
}

std::vector<std::string> TomlTable::list(const std::string& key, const TextRule& rule) {
    const Node* node = find(key);
    if (node == nullptr) return {};
    std::vector<std::string> result;
    if (node->kind != Node::Kind::array) {
        wrong(*node, key, "a list of texts");
        return result;
    }
    for (const Node& member : node->children) {
        const auto* value = std::get_if<std::string>(&member.scalar);
        if (value == nullptr || !rule.holds(*value)) {
            wrong(member, key, rule.expected);
        } else if (std::find(result.begin(), result.end(), *value) != result.end()) {
            conflict(member, key, "has '" + *value + "' twice");
        } else {
            result.push_back(*value);
        }
    }
    return result;
}

std::optional<std::size_t> TomlTable::word(const std::string& key, const std::vector<std::string>& words,
                                           std::optional<std::size_t> standard) {
    const std::string expected = "one of " + base::joined(words);
    const Node* node = standard ? find(key) : require(key, expected);
    if (node == nullptr) return standard;
    const auto* value = std::get_if<std::string>(&node->scalar);
    const auto found = value == nullptr ? words.end() : std::find(words.begin(), words.end(), *value);
    if (found != words.end()) return static_cast<std::size_t>(found - words.begin());
    wrong(*node, key, expected, value == nullptr ? "" : config::did_you_mean(config::suggest(*value, words)));
    return std::nullopt;
}

void TomlTable::finish() {
    for (const Node& child : node_.children) {
        if (std::find(known_.begin(), known_.end(), child.name) != known_.end()) continue;
        const std::string hint = config::did_you_mean(config::suggest(child.name, known_));
        report_.add(child.name_place, prefix_ + child.name, "unknown key",
                    hint.empty() ? "one of " + base::joined(known_) : "", hint);
    }
}

}  // namespace switchyard::host
