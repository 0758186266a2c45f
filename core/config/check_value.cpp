#include <switchyard/config/check_value.h>

#include <algorithm>
#include <cmath>

#include <switchyard/config/suggest.h>

namespace switchyard::config {
namespace {

bool in_range(const Shape& shape, double value) {
    if (!std::isfinite(value)) return false;
    if (shape.low && (shape.low_open ? value <= *shape.low : value < *shape.low)) return false;
    return !shape.high || (shape.high_open ? value < *shape.high : value <= *shape.high);
}

bool is_word(std::string_view text) {
    const auto inner = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
               c == '-' || c == '.';
    };
    return !text.empty() && std::all_of(text.begin(), text.end(), inner);
}

// [plugin/]component[@variant]
bool is_backend_name(std::string_view text) {
    if (const auto slash = text.find('/'); slash != std::string_view::npos) {
        if (!is_word(text.substr(0, slash))) return false;
        text.remove_prefix(slash + 1);
    }
    if (const auto at = text.find('@'); at != std::string_view::npos) {
        if (!is_word(text.substr(at + 1))) return false;
        text = text.substr(0, at);
    }
    return is_word(text);
}

std::string did_you_mean(const std::string& word, const std::vector<std::string_view>& choices) {
    const std::string best = suggest(word, {choices.begin(), choices.end()});
    return best.empty() ? "" : "did you mean " + toml_string(best) + "?";
}

std::optional<Value> check_scalar(const Shape& shape, const Node& node, std::string& hint) {
    switch (shape.type) {
        case Type::boolean:
            if (node.kind == Node::Kind::boolean) return std::get<bool>(node.scalar);
            break;
        case Type::integer:
            if (node.kind != Node::Kind::integer) break;
            if (!in_range(shape, static_cast<double>(std::get<std::int64_t>(node.scalar)))) break;
            return std::get<std::int64_t>(node.scalar);
        case Type::number: {
            double value = NAN;
            if (node.kind == Node::Kind::number) value = std::get<double>(node.scalar);
            if (node.kind == Node::Kind::integer)
                value = static_cast<double>(std::get<std::int64_t>(node.scalar));
            if (in_range(shape, value)) return value;
            break;
        }
        default: {
            if (node.kind != Node::Kind::string) break;
            const auto& text = std::get<std::string>(node.scalar);
            if (shape.type == Type::text) return text;
            if (shape.type == Type::backend
                    ? is_backend_name(text)
                    : std::count(shape.choices.begin(), shape.choices.end(), text) > 0) {
                return text;
            }
            hint = did_you_mean(text, shape.choices);
        }
    }
    return std::nullopt;
}

Type member_type(const Shape& list) {
    if (list.type == Type::numbers) return Type::number;
    if (list.type == Type::backend) return Type::backend;
    return list.choices.empty() ? Type::text : Type::choice;
}

std::optional<Value> check_list(const Shape& shape, const Node& node, const std::string& key,
                                const Complain& complain) {
    Shape member = shape;
    member.type = member_type(shape);
    const bool names_only_once = shape.type == Type::backend || shape.type == Type::choices;
    std::vector<std::string> texts;
    std::vector<double> numbers;
    bool good = true;
    for (std::size_t i = 0; i < node.children.size(); ++i) {
        const Node& child = node.children[i];
        std::string hint;
        const auto value = check_scalar(member, child, hint);
        const auto* text = value ? std::get_if<std::string>(&*value) : nullptr;
        const bool again =
            text != nullptr && names_only_once && std::count(texts.begin(), texts.end(), *text) > 0;
        const bool auto_in_list =
            text != nullptr && shape.type == Type::backend && *text == "auto" && node.children.size() > 1;
        if (!value || again || auto_in_list) {
            const std::string expected = again          ? "each name once"
                                         : auto_in_list ? "names, or \"auto\" alone"
                                                        : expected_text(member);
            complain(child, key + '[' + std::to_string(i) + ']', expected, hint);
            good = false;
        } else if (text != nullptr) {
            texts.push_back(*text);
        } else {
            numbers.push_back(std::get<double>(*value));
        }
    }
    if (!good) return std::nullopt;
    if (shape.type == Type::numbers) return numbers;
    return texts;
}

}  // namespace

std::optional<Value> check_value(const Shape& shape, const Node& node, const std::string& key,
                                 const Complain& complain) {
    const bool list_wanted = shape.type >= Type::texts;
    if (list_wanted && node.kind == Node::Kind::array) {
        const bool empty =
            node.children.empty() && (shape.type == Type::backend || shape.type == Type::choices);
        const bool wrong_length = shape.count != 0 && node.children.size() != shape.count;
        if (!empty && !wrong_length) return check_list(shape, node, key, complain);
        complain(node, key, expected_text(shape),
                 wrong_length ? "it has " + std::to_string(node.children.size()) : "");
        return std::nullopt;
    }
    std::string hint;
    if (!list_wanted || shape.type == Type::backend) {
        if (auto value = check_scalar(shape, node, hint)) {
            if (shape.type == Type::backend) return std::vector<std::string>{std::get<std::string>(*value)};
            return value;
        }
    }
    complain(node, key, expected_text(shape), hint);
    return std::nullopt;
}

Shape shape_of(const OptionSpec& spec) {
    constexpr Type types[] = {Type::boolean, Type::integer, Type::number, Type::text, Type::texts};
    Shape shape{.type = types[static_cast<std::size_t>(spec.type)], .low = spec.min, .high = spec.max};
    shape.choices = {spec.choices.begin(), spec.choices.end()};
    if (shape.type == Type::text && !shape.choices.empty()) shape.type = Type::choice;
    return shape;
}

Shape shape_of(const Node& node) {
    switch (node.kind) {
        case Node::Kind::boolean:
            return {.type = Type::boolean};
        case Node::Kind::integer:
            return {.type = Type::integer};
        case Node::Kind::number:
            return {.type = Type::number};
        case Node::Kind::array:
            return {.type = Type::texts};
        default:
            return {.type = Type::text};
    }
}

OptionValue to_option(const Value& value) {
    return std::visit(
        [](const auto& held) -> OptionValue {
            if constexpr (std::is_same_v<std::remove_cvref_t<decltype(held)>, std::vector<double>>)
                return std::vector<std::string>{};
            else
                return held;
        },
        value);
}

Value from_option(const OptionValue& value) {
    return std::visit([](const auto& held) -> Value { return held; }, value);
}

}  // namespace switchyard::config
