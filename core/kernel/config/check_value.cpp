#include "core/kernel/config/check_value.h"

#include <algorithm>
#include <cmath>

#include "core/kernel/base/joined.h"
#include "core/kernel/config/suggest.h"

namespace switchyard::config {
namespace {

std::string number_text(double value) {
    if (std::abs(value) >= 0x1p53) return to_toml(value);
    const auto whole = static_cast<std::int64_t>(value);
    return static_cast<double>(whole) == value ? std::to_string(whole) : to_toml(value);
}

// " >= 0 and < 1", or empty.
std::string range_text(const ValueLimits& limits) {
    std::string text;
    if (limits.min) text = (limits.above_min ? " > " : " >= ") + number_text(*limits.min);
    if (limits.min && limits.max) text += " and";
    if (limits.max) text += (limits.below_max ? " < " : " <= ") + number_text(*limits.max);
    return text;
}

std::string choices_text(const ValueLimits& limits, bool quotes) {
    std::string text;
    for (const auto& choice : limits.choices)
        base::add_item(text, quotes && !is_switch_word(choice) ? toml_string(choice) : choice);
    const std::string custom = std::string(custom_prefix) + "NAME";
    if (limits.custom) base::add_item(text, quotes ? toml_string(custom) : custom);
    return text;
}

std::string integer_text(const ValueLimits& limits, bool quotes) {
    const auto words = limits.choices.empty() ? "" : ", or " + choices_text(limits, quotes);
    return "integer" + range_text(limits) + words;
}

bool is_word(std::string_view text) {
    return !text.empty() &&
           text.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.") ==
               std::string_view::npos;
}

// custom:NAME, as a component names it in its plugin.toml.
bool is_custom_name(std::string_view text) { return is_word(custom_name(text)); }

// [plugin/]component[@variant]
bool is_backend_name(std::string_view text) {
    const auto slash = text.find('/');
    if (slash != std::string_view::npos && !is_word(text.substr(0, slash))) return false;
    if (slash != std::string_view::npos) text.remove_prefix(slash + 1);
    const auto at = text.find('@');
    return is_word(text.substr(0, at)) && (at == std::string_view::npos || is_word(text.substr(at + 1)));
}

// One value of `spec`, or of a list of such; a text that is none of the choices leaves a hint.
std::optional<Value> check_scalar(const ValueSpec& spec, const Node& node, std::string& hint) {
    const ValueType type = spec.type;
    const ValueLimits& limits = spec.limits;
    const bool choice = (type == ValueType::string || type == ValueType::backend) && !limits.choices.empty();
    const auto* integer = std::get_if<std::int64_t>(&node.scalar);
    const auto* number = std::get_if<double>(&node.scalar);
    const auto* text = std::get_if<std::string>(&node.scalar);
    if (type == ValueType::boolean && node.kind == Node::Kind::boolean) return std::get<bool>(node.scalar);
    if (choice && node.kind == Node::Kind::boolean) {
        const std::string word = std::get<bool>(node.scalar) ? "true" : "false";
        if (std::ranges::count(limits.choices, word) > 0) return word;
    }
    if (type == ValueType::integer && integer != nullptr && in_range(limits, static_cast<double>(*integer)))
        return *integer;
    if (type == ValueType::integer && text != nullptr && std::ranges::count(limits.choices, *text) > 0)
        return *text;
    if (type == ValueType::number && integer != nullptr && in_range(limits, static_cast<double>(*integer)))
        return static_cast<double>(*integer);
    if (type == ValueType::number && number != nullptr && in_range(limits, *number)) return *number;
    if (text == nullptr || (type < ValueType::string && limits.choices.empty())) return std::nullopt;
    const bool known =
        choice ? std::ranges::count(limits.choices, *text) > 0 || (limits.custom && is_custom_name(*text))
               : type == ValueType::string || (type == ValueType::backend && is_backend_name(*text));
    if (known) return *text;
    const std::string near = suggest(*text, limits.choices);
    hint = did_you_mean(near.empty() ? "" : toml_string(near));
    return std::nullopt;
}

std::optional<Value> check_list(const ValueSpec& spec, const Node& node, const std::string& key,
                                const Complain& complain) {
    ValueSpec member = spec;
    if (spec.type == ValueType::list) member.type = ValueType::string;
    if (spec.type == ValueType::numbers) member.type = ValueType::number;
    const bool each_once = spec.type == ValueType::backend || !spec.limits.choices.empty();
    std::vector<std::string> texts;
    std::vector<double> numbers;
    for (std::size_t i = 0; i < node.children.size(); ++i) {
        const Node& child = node.children[i];
        std::string hint;
        const auto value = check_scalar(member, child, hint);
        std::string expected = value ? "" : expected_text(member);
        if (const auto* text = value ? std::get_if<std::string>(&*value) : nullptr) {
            if (each_once && std::ranges::count(texts, *text) > 0) expected = "each name once";
            if (spec.type == ValueType::backend && *text == "auto" && node.children.size() > 1)
                expected = "names, or \"auto\" alone";
            texts.push_back(*text);
        } else if (value) {
            numbers.push_back(std::get<double>(*value));
        }
        if (!expected.empty()) complain(child, key + '[' + std::to_string(i) + ']', expected, hint);
    }
    if (spec.type == ValueType::numbers) return numbers;
    return texts;
}

}  // namespace

bool in_range(const ValueLimits& limits, double value) {
    if (!std::isfinite(value)) return false;
    if (limits.min && (limits.above_min ? value <= *limits.min : value < *limits.min)) return false;
    return !limits.max || (limits.below_max ? value < *limits.max : value <= *limits.max);
}

std::string_view type_name(const ValueSpec& spec) {
    constexpr std::string_view texts[] = {"boolean",         "integer",         "number",        "string",
                                          "list of strings", "list of numbers", "string or list"};
    if (!spec.limits.choices.empty() && spec.type != ValueType::integer)
        return spec.type == ValueType::string    ? "one of"
               : spec.type == ValueType::backend ? "name or list of names"
                                                 : "list of names";
    return texts[static_cast<std::size_t>(spec.type)];
}

std::string short_text(const ValueSpec& spec) {
    const ValueLimits& limits = spec.limits;
    if (spec.type == ValueType::numbers && limits.length > 0)
        return "list of " + std::to_string(limits.length) + " numbers" + range_text(limits);
    if (spec.type == ValueType::integer) return integer_text(limits, false);
    if (limits.choices.empty()) return std::string(type_name(spec)) + range_text(limits);
    return (spec.type == ValueType::string    ? "one of "
            : spec.type == ValueType::backend ? "one or a list of "
                                              : "list of ") +
           choices_text(limits, false);
}

std::string expected_text(const ValueSpec& spec) {
    if (spec.type == ValueType::boolean) return "true or false";
    if (spec.type == ValueType::backend && spec.limits.choices.empty())
        return "[plugin/]component[@variant], a list of them, or \"auto\"";
    if (spec.type == ValueType::integer) return "an " + integer_text(spec.limits, true);
    if (!spec.limits.choices.empty())
        return (spec.type == ValueType::string    ? "one of "
                : spec.type == ValueType::backend ? "one or a list of "
                                                  : "a list of some of ") +
               choices_text(spec.limits, true);
    return "a " + short_text(spec);
}

std::optional<Value> check_value(const ValueSpec& spec, const Node& node, const std::string& key,
                                 const Complain& complain) {
    std::string hint;
    if (spec.type >= ValueType::list && node.kind == Node::Kind::array) {
        const std::size_t size = node.children.size();
        const std::size_t length = spec.limits.length;
        if (length != 0 && size != length) hint = "it has " + std::to_string(size);
        if (hint.empty() && (size > 0 || !spec.limits.not_empty)) {
            bool good = true;
            const auto noted = [&](const Node& member, const std::string& path, const std::string& expected,
                                   const std::string& tip) {
                good = false;
                complain(member, path, expected, tip);
            };
            auto list = check_list(spec, node, key, noted);
            return good ? list : std::nullopt;
        }
    } else if (spec.type < ValueType::list || spec.type == ValueType::backend) {
        const auto value = check_scalar(spec, node, hint);
        if (value && spec.type == ValueType::backend)
            return std::vector<std::string>{std::get<std::string>(*value)};
        if (value) return value;
    }
    complain(node, key, expected_text(spec), hint);
    return std::nullopt;
}

ValueSpec spec_as_written(const Node& node) {
    constexpr ValueType types[] = {ValueType::boolean, ValueType::integer, ValueType::number,
                                   ValueType::string,  ValueType::string,  ValueType::list,
                                   ValueType::string};
    return {.type = types[static_cast<std::size_t>(node.kind)]};
}

Options default_options(const OptionSchema& schema) {
    Options options;
    for (const auto& spec : schema) options.set(spec.key, spec.default_value);
    return options;
}

}  // namespace switchyard::config
