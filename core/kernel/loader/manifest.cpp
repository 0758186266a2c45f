#include "core/kernel/loader/manifest.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <stdexcept>

#include "core/kernel/base/json_text.h"
#include "core/kernel/base/printable.h"

namespace switchyard::loader {

namespace {

using base::Json;

struct Invalid : std::runtime_error {
    using std::runtime_error::runtime_error;
};

const Json& member(const Json& object, const char* key, const std::string& where) {
    const auto found = object.find(key);
    if (found == object.end()) throw Invalid(where + key + " is missing");
    return *found;
}

// As a_line of plugin.toml (toml_table.h): nothing in it ends a line or steers a terminal.
std::string one_line(std::string text, const std::string& what) {
    if (base::printable(text) != text) throw Invalid(what + " holds control characters");
    return text;
}

std::string text(const Json& object, const char* key, const std::string& where) {
    const Json& value = member(object, key, where);
    if (!value.is_string()) throw Invalid(where + key + " is not a string");
    return one_line(value.get<std::string>(), where + key);
}

int integer(const Json& value, const std::string& what) {
    const auto number = base::integer_of(value);
    if (!number || *number < -1000000 || *number > 1000000)
        throw Invalid(what + " is not an integer of a usable size");
    return static_cast<int>(*number);
}

std::vector<std::string> texts(const Json& object, const char* key, const std::string& where) {
    std::vector<std::string> result;
    const Json& value = member(object, key, where);
    if (!value.is_array()) throw Invalid(where + key + " is not a list");
    for (const Json& item : value) {
        if (!item.is_string()) throw Invalid(where + key + " has a member that is not a string");
        result.push_back(one_line(item.get<std::string>(), where + key));
    }
    return result;
}

template <class Enum>
Enum choice(const Json& object, const char* key, const std::string& where) {
    const std::string value = text(object, key, where);
    const auto parsed = parse<Enum>(value);
    if (!parsed)
        throw Invalid(where + key + " is '" + base::quoted(value) + "', which this program does not know");
    return *parsed;
}

std::optional<double> bound(const Json& option, const char* key, const std::string& where) {
    const auto found = option.find(key);
    if (found == option.end()) return std::nullopt;
    if (!found->is_number()) throw Invalid(where + key + " is not a number");
    return found->get<double>();
}

OptionValue default_value(const Json& option, ValueType type, const std::string& where) {
    const Json& value = member(option, "default", where);
    if (type == ValueType::boolean && value.is_boolean()) return value.get<bool>();
    const auto integer = base::integer_of(value);
    if (type == ValueType::integer && integer) return *integer;
    if (type == ValueType::number && value.is_number()) return value.get<double>();
    if (type == ValueType::string && value.is_string())
        return one_line(value.get<std::string>(), where + "default");
    if (type == ValueType::list) return texts(option, "default", where);
    throw Invalid(where + "default is of another type than the option");
}

OptionSchema schema_from(const Json& options, const std::string& where) {
    if (!options.is_object()) throw Invalid(where + "options is not an object");
    OptionSchema schema;
    for (const auto& [key, option] : options.items()) {
        const std::string inside = where + "options." + base::quoted(key) + ".";
        if (!option.is_object()) throw Invalid(where + "options." + base::quoted(key) + " is not an object");
        ValueSpec spec;
        spec.key = one_line(key, "the name of an option");
        spec.type = choice<ValueType>(option, "type", inside);
        spec.default_value = default_value(option, spec.type, inside);
        spec.limits.min = bound(option, "min", inside);
        spec.limits.max = bound(option, "max", inside);
        if (option.contains("choices")) spec.limits.choices = texts(option, "choices", inside);
        spec.help = text(option, "help", inside);
        schema.push_back(std::move(spec));
    }
    return schema;
}

ComponentManifest component_from(const Json& value, const std::string& where) {
    if (!value.is_object()) throw Invalid(where + " is not an object");
    const std::string in = where + ".";
    ComponentManifest component;
    component.kind = choice<Kind>(value, "kind", in);
    component.id = text(value, "id", in);
    component.summary = text(value, "summary", in);
    component.variants = texts(value, "variants", in);
    component.priority = integer(member(value, "priority", in), in + "priority");
    component.gradient = choice<GradientMode>(value, "gradient", in);
    component.random = choice<RandomSource>(value, "random", in);
    component.accuracy = choice<Accuracy>(value, "accuracy", in);
    const Json& accuracy_bound = member(value, "accuracy_bound", in);
    if (!accuracy_bound.is_number()) throw Invalid(in + "accuracy_bound is not a number");
    component.accuracy_bound = accuracy_bound.get<double>();
    if ((component.accuracy == Accuracy::reduced) != (component.accuracy_bound > 0.0))
        throw Invalid(in + "accuracy_bound is above 0 where accuracy is 'reduced', and else 0");
    if (component.kind == Kind::data_loader)
        component.composition = choice<Composition>(value, "composition", in);
    if (value.contains("custom")) component.custom = texts(value, "custom", in);
    component.options = schema_from(member(value, "options", in), in);
    return component;
}

Manifest manifest_from(const Json& value) {
    if (!value.is_object()) throw Invalid("the JSON is not an object");
    Manifest manifest;
    manifest.name = text(value, "name", "");
    if (manifest.name.empty()) throw Invalid("name is empty");
    manifest.version = text(value, "version", "");
    manifest.vendor = text(value, "vendor", "");
    manifest.license = text(value, "license", "");
    manifest.summary = text(value, "summary", "");
    // Since there are two; where nothing is said it is the first.
    if (value.contains("tier")) manifest.tier = choice<Tier>(value, "tier", "");
    if (value.contains("libtorch_minimum")) {
        manifest.libtorch_minimum = text(value, "libtorch_minimum", "");
        if (!version_numbers(manifest.libtorch_minimum))
            throw Invalid("libtorch_minimum is '" + base::quoted(manifest.libtorch_minimum) +
                          "', which is no version");
    }
    const Json& abi = member(value, "abi", "");
    if (!abi.is_array() || abi.size() != 2) throw Invalid("abi is not [major, minor]");
    manifest.abi_major = integer(abi[0], "abi");
    manifest.abi_minor = integer(abi[1], "abi");
    manifest.cpu_features = texts(value, "cpu_features", "");
    const Json& components = member(value, "components", "");
    if (!components.is_array() || components.empty())
        throw Invalid("components is not a list with something in it");
    for (std::size_t i = 0; i < components.size(); ++i) {
        ComponentManifest component = component_from(components[i], "components[" + std::to_string(i) + "]");
        if (manifest.find(component.kind, component.id) != nullptr) {
            throw Invalid("there are two components " + std::string(name(component.kind)) + " '" +
                          base::quoted(component.id) + "'");
        }
        manifest.components.push_back(std::move(component));
    }
    return manifest;
}

std::uint32_t little_endian(std::string_view bytes) {
    std::uint32_t value = 0;
    for (int i = 3; i >= 0; --i)
        value = value << 8 | static_cast<unsigned char>(bytes[static_cast<std::size_t>(i)]);
    return value;
}

Manifest read_section(std::string_view section) {
    constexpr std::size_t header = 16;
    if (section.size() < header || section.substr(0, 8) != "SWYDMAN1")
        throw Invalid("it does not begin with SWYDMAN1");
    if (const auto version = little_endian(section.substr(8, 4)); version != 1) {
        throw Invalid("it has format " + std::to_string(version) + ", this program reads 1");
    }
    const std::size_t size = little_endian(section.substr(12, 4));
    if (size > section.size() - header) {
        throw Invalid("its text should have " + std::to_string(size) + " bytes, and " +
                      std::to_string(section.size() - header) + " are there");
    }
    const std::string_view content = section.substr(header, size);
    const auto empty_line = content.find("\n\n");
    if (empty_line == std::string_view::npos) throw Invalid("no empty line ends its fingerprint");
    const auto fingerprint = parse_fingerprint(content.substr(0, empty_line + 1));
    if (!fingerprint) throw Invalid("its fingerprint has a line that is not key=value, or a key twice");
    const auto json = base::parse_json(content.substr(empty_line + 2));
    if (!json.fault.empty()) throw Invalid("its JSON cannot be read: " + json.fault);
    Manifest manifest = manifest_from(json.value);
    manifest.fingerprint = *fingerprint;
    return manifest;
}

}  // namespace

const ComponentManifest* Manifest::find(Kind kind, std::string_view id) const {
    const auto found = std::find_if(
        components.begin(), components.end(),
        [&](const ComponentManifest& component) { return component.kind == kind && component.id == id; });
    return found == components.end() ? nullptr : &*found;
}

Json to_json(const ComponentManifest& component) {
    Json options = Json::object();
    for (const auto& spec : component.options) {
        Json option{{"type", name(spec.type)}};
        std::visit([&](const auto& value) { option["default"] = value; }, spec.default_value);
        const ValueLimits& limits = spec.limits;
        if (limits.min) option["min"] = *limits.min;
        if (limits.max) option["max"] = *limits.max;
        if (!limits.choices.empty()) option["choices"] = limits.choices;
        option["help"] = spec.help;
        options[spec.key] = option;
    }
    Json json{{"kind", name(component.kind)},
              {"id", component.id},
              {"summary", component.summary},
              {"variants", component.variants},
              {"priority", component.priority},
              {"gradient", name(component.gradient)},
              {"random", name(component.random)},
              {"accuracy", name(component.accuracy)},
              {"accuracy_bound", component.accuracy_bound},
              {"options", options}};
    if (component.kind == Kind::data_loader) json["composition"] = name(component.composition);
    if (!component.custom.empty()) json["custom"] = component.custom;
    return json;
}

std::optional<std::array<int, 3>> version_numbers(std::string_view text) {
    std::array<int, 3> numbers{};
    const char* at = text.data();
    const char* const end = at + text.size();
    for (int& number : numbers) {
        const auto [after, error] = std::from_chars(at, end, number);
        if (error != std::errc{} || number < 0) return std::nullopt;
        if (after == end) return numbers;
        if (*after != '.') return std::nullopt;
        at = after + 1;
    }
    return std::nullopt;
}

ManifestResult parse_manifest(std::string_view section) {
    try {
        return {read_section(section), {}};
    } catch (const Invalid& error) {
        return {std::nullopt, error.what()};
    }
}

}  // namespace switchyard::loader
