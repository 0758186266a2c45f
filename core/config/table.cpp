#include <switchyard/config/table.h>

#include <unordered_map>

namespace switchyard::config {
namespace {

std::vector<Section> make_sections() {
    std::vector<Section> made{
        {"run", "The run as a whole.", run_fields()},
        {"runtime", "Memory and threads, the same for every backend.", runtime_fields()},
        {"plugins", "Where plugins are looked for.", plugins_fields()},
        {"model", "What is computed: sizes and formulas.", model_fields()},
        {"batch", "Shapes of the batches; a component is bound once for the whole range.", batch_fields()},
    };
    constexpr std::string_view help[] = {"Who computes softmax(q k^T) v.",
                                         "Who normalizes, with the residual sum and dropout before it.",
                                         "Who computes the feed-forward's activation.",
                                         "Who computes cross-entropy.",
                                         "Who updates the parameters, and how.",
                                         "In which dtypes the model computes.",
                                         "Who turns samples into batches."};
    for (std::size_t i = 0; i < names<Kind>.size(); ++i) {
        made.push_back({names<Kind>[i], help[i], slot_fields(static_cast<Kind>(i))});
    }
    return made;
}

std::string bound_text(double value) {
    return value == static_cast<double>(static_cast<std::int64_t>(value))
               ? std::to_string(static_cast<std::int64_t>(value))
               : to_toml(value);
}

std::string choices_text(const Shape& shape) {
    std::string text;
    for (const auto choice : shape.choices) text += (text.empty() ? "" : ", ") + toml_string(choice);
    return text;
}

}  // namespace

std::string_view type_text(Type type) {
    constexpr std::string_view texts[] = {"boolean",         "integer",       "number",
                                          "string",          "string",        "list of strings",
                                          "list of numbers", "list of names", "string or list"};
    return texts[static_cast<std::size_t>(type)];
}

std::string range_text(const Shape& shape) {
    std::string text;
    if (shape.low) text = (shape.low_open ? "> " : ">= ") + bound_text(*shape.low);
    if (shape.high)
        text += (text.empty() ? "" : " and ") + std::string(shape.high_open ? "< " : "<= ") +
                bound_text(*shape.high);
    return text;
}

std::string expected_text(const Shape& shape) {
    const std::string range = range_text(shape);
    const std::string after = range.empty() ? "" : " " + range;
    const std::string count =
        shape.count == 0 ? "a list of " : "a list of " + std::to_string(shape.count) + " ";
    switch (shape.type) {
        case Type::boolean:
            return "true or false";
        case Type::integer:
            return "an integer" + after;
        case Type::number:
            return "a number" + after;
        case Type::text:
            return "a string";
        case Type::choice:
            return "one of " + choices_text(shape);
        case Type::texts:
            return shape.choices.empty() ? count + "strings" : "a list of some of " + choices_text(shape);
        case Type::numbers:
            return count + "numbers" + after;
        case Type::choices:
            return "a list of some of " + choices_text(shape);
        case Type::backend:
            return "[plugin/]component[@variant], a list of them, or \"auto\"";
    }
    return {};
}

const std::vector<Section>& sections() {
    static const std::vector<Section> made = make_sections();
    return made;
}

Value default_value(const Field& field, ModelType type) {
    static const Config standard;
    if (field.usual.empty()) return field.get(standard);
    return std::visit(
        [](auto literal) -> Value {
            if constexpr (std::is_same_v<decltype(literal), std::string_view>)
                return std::string(literal);
            else
                return literal;
        },
        field.usual[static_cast<std::size_t>(type)]);
}

const Field* find_field(std::string_view key) {
    static const auto index = [] {
        std::unordered_map<std::string_view, const Field*> made;
        for (const auto& section : sections()) {
            for (const auto& field : section.fields) made.emplace(field.key, &field);
        }
        return made;
    }();
    const auto found = index.find(key);
    return found == index.end() ? nullptr : found->second;
}

std::optional<Kind> kind_of_options(std::string_view path) {
    constexpr std::string_view suffix = ".options";
    if (path.size() <= suffix.size() || path.substr(path.size() - suffix.size()) != suffix)
        return std::nullopt;
    return parse<Kind>(path.substr(0, path.size() - suffix.size()));
}

}  // namespace switchyard::config
