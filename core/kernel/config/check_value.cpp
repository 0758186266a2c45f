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
std::string range_text(const Limits& limits) {
    std::string text;
    if (limits.low) text = (limits.low_open ? " > " : " >= ") + number_text(*limits.low);
    if (limits.low && limits.high) text += " and";
    if (limits.high) text += (limits.high_open ? " < " : " <= ") + number_text(*limits.high);
    return text;
}

std::string choices_text(const Limits& limits, bool quotes) {
    std::string text;
    for (const auto choice : limits.choices)
        base::add_item(text, quotes && !is_switch_word(choice) ? toml_string(choice) : std::string(choice));
    return text;
}

bool is_word(std::string_view text) {
    return !text.empty() &&
           text.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.") ==
               std::string_view::npos;
}

// [plugin/]component[@variant]
bool is_backend_name(std::string_view text) {
    const auto slash = text.find('/');
    if (slash != std::string_view::npos && !is_word(text.substr(0, slash))) return false;
    if (slash != std::string_view::npos) text.remove_prefix(slash + 1);
    const auto at = text.find('@');
    return is_word(text.substr(0, at)) && (at == std::string_view::npos || is_word(text.substr(at + 1)));
}

// Of the type of one value of `shape`; a text that is none of the choices leaves a hint.
std::optional<Value> check_scalar(Type type, const Limits& limits, const Node& node, std::string& hint) {
    const auto* integer = std::get_if<std::int64_t>(&node.scalar);
    const auto* number = std::get_if<double>(&node.scalar);
    const auto* text = std::get_if<std::string>(&node.scalar);
    if (type == Type::boolean && node.kind == Node::Kind::boolean) return std::get<bool>(node.scalar);
    if (type == Type::choice && node.kind == Node::Kind::boolean) {
        const std::string word = std::get<bool>(node.scalar) ? "true" : "false";
        if (std::ranges::count(limits.choices, word) > 0) return word;
    }
    if (type == Type::integer && integer != nullptr && in_range(limits, static_cast<double>(*integer)))
        return *integer;
    if (type == Type::number && integer != nullptr && in_range(limits, static_cast<double>(*integer)))
        return static_cast<double>(*integer);
    if (type == Type::number && number != nullptr && in_range(limits, *number)) return *number;
    if (type < Type::text || text == nullptr) return std::nullopt;
    if (type == Type::text || (type == Type::backend && is_backend_name(*text))) return *text;
    if (std::ranges::count(limits.choices, *text) > 0) return *text;
    const std::string near = suggest(*text, {limits.choices.begin(), limits.choices.end()});
    hint = did_you_mean(near.empty() ? "" : toml_string(near));
    return std::nullopt;
}

Type member_type(const Shape& list) {
    if (list.type == Type::numbers) return Type::number;
    if (list.type == Type::backend) return Type::backend;
    return list.limits.choices.empty() ? Type::text : Type::choice;
}

std::optional<Value> check_list(const Shape& shape, const Node& node, const std::string& key,
                                const Complain& complain) {
    const Shape member{member_type(shape), shape.limits};
    const bool each_once = shape.type == Type::backend || shape.type == Type::choices;
    std::vector<std::string> texts;
    std::vector<double> numbers;
    for (std::size_t i = 0; i < node.children.size(); ++i) {
        const Node& child = node.children[i];
        std::string hint;
        const auto value = check_scalar(member.type, member.limits, child, hint);
        std::string expected = value ? "" : expected_text(member);
        if (const auto* text = value ? std::get_if<std::string>(&*value) : nullptr) {
            if (each_once && std::ranges::count(texts, *text) > 0) expected = "each name once";
            if (shape.type == Type::backend && *text == "auto" && node.children.size() > 1)
                expected = "names, or \"auto\" alone";
            texts.push_back(*text);
        } else if (value) {
            numbers.push_back(std::get<double>(*value));
        }
        if (!expected.empty()) complain(child, key + '[' + std::to_string(i) + ']', expected, hint);
    }
    if (shape.type == Type::numbers) return numbers;
    return texts;
}

}  // namespace

bool in_range(const Limits& limits, double value) {
    if (!std::isfinite(value)) return false;
    if (limits.low && (limits.low_open ? value <= *limits.low : value < *limits.low)) return false;
    return !limits.high || (limits.high_open ? value < *limits.high : value <= *limits.high);
}

std::string_view type_name(Type type) {
    constexpr std::string_view texts[] = {"boolean",         "integer",       "number",
                                          "string",          "one of",        "list of strings",
                                          "list of numbers", "list of names", "string or list"};
    return texts[static_cast<std::size_t>(type)];
}

std::string short_text(const Shape& shape) {
    const auto& [type, limits] = shape;
    if (type == Type::numbers && limits.count > 0) {
        return "list of " + std::to_string(limits.count) + " numbers" + range_text(limits);
    }
    if (limits.choices.empty()) return std::string(type_name(type)) + range_text(limits);
    return (type == Type::choice ? "one of " : "list of ") + choices_text(limits, false);
}

std::string expected_text(const Shape& shape) {
    if (shape.type == Type::boolean) return "true or false";
    if (shape.type == Type::backend) return "[plugin/]component[@variant], a list of them, or \"auto\"";
    if (shape.type == Type::choice) return "one of " + choices_text(shape.limits, true);
    if (!shape.limits.choices.empty()) return "a list of some of " + choices_text(shape.limits, true);
    return (shape.type == Type::integer ? "an " : "a ") + short_text(shape);
}

std::optional<Value> check_value(const Shape& shape, const Node& node, const std::string& key,
                                 const Complain& complain) {
    std::string hint;
    if (shape.type >= Type::texts && node.kind == Node::Kind::array) {
        const std::size_t size = node.children.size();
        const bool needs_one = shape.type == Type::backend || shape.type == Type::choices;
        if (shape.limits.count != 0 && size != shape.limits.count) hint = "it has " + std::to_string(size);
        if (hint.empty() && (size > 0 || !needs_one)) {
            bool good = true;
            const auto noted = [&](const Node& member, const std::string& path, const std::string& expected,
                                   const std::string& tip) {
                good = false;
                complain(member, path, expected, tip);
            };
            auto list = check_list(shape, node, key, noted);
            return good ? list : std::nullopt;
        }
    } else if (shape.type < Type::texts || shape.type == Type::backend) {
        const auto value = check_scalar(shape.type, shape.limits, node, hint);
        if (value && shape.type == Type::backend)
            return std::vector<std::string>{std::get<std::string>(*value)};
        if (value) return value;
    }
    complain(node, key, expected_text(shape), hint);
    return std::nullopt;
}

Shape shape_of(const OptionSpec& spec) {
    constexpr Type types[] = {Type::boolean, Type::integer, Type::number, Type::text, Type::texts};
    Shape shape{types[static_cast<std::size_t>(spec.type)], {.low = spec.min, .high = spec.max}};
    shape.limits.choices.assign(spec.choices.begin(), spec.choices.end());
    if (shape.type == Type::text && !spec.choices.empty()) shape.type = Type::choice;
    return shape;
}

Shape shape_of(const Node& node) {
    constexpr Type types[] = {Type::boolean, Type::integer, Type::number, Type::text,
                              Type::text,    Type::texts,   Type::text};
    return {types[static_cast<std::size_t>(node.kind)]};
}

Options default_options(const OptionSchema& schema) {
    Options options;
    for (const auto& spec : schema) options.set(spec.name, spec.default_value);
    return options;
}

OptionValue to_option(const Value& value) {
    const auto convert = [](const auto& held) -> OptionValue {
        if constexpr (requires { OptionValue(held); })
            return held;
        else
            return {};
    };
    return std::visit(convert, value);
}

Value from_option(const OptionValue& value) {
    return std::visit([](const auto& held) -> Value { return held; }, value);
}

}  // namespace switchyard::config
