// Does a JSON value fit one of docs/schema/*.json? The part of JSON Schema (draft 2020-12) that those files
// use: type, properties, required, additionalProperties, items, enum, const, minItems, minimum, maximum,
// anyOf, $ref to "#/$defs/NAME". Any other keyword is an error: no schema promises what is not checked.
#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include <switchyard_test.h>

namespace switchyard::test {

class JsonSchema {
public:
    explicit JsonSchema(const std::filesystem::path& file) {
        std::ifstream stream(file);
        if (!stream) throw std::runtime_error("cannot read " + file.string());
        root_ = nlohmann::json::parse(stream);
    }

    // What does not fit, each with its place ("/slots/0/chosen: ..."); empty if all does.
    std::vector<std::string> faults(const nlohmann::json& value) const {
        std::vector<std::string> list;
        check(root_, value, "", list);
        return list;
    }

private:
    using Json = nlohmann::json;

    static bool is(const Json& value, const std::string& type) {
        if (type == "object") return value.is_object();
        if (type == "array") return value.is_array();
        if (type == "string") return value.is_string();
        if (type == "boolean") return value.is_boolean();
        if (type == "null") return value.is_null();
        if (type == "integer") return value.is_number_integer();
        if (type == "number") return value.is_number();
        throw std::runtime_error("schema has an unknown type " + type);
    }

    void check(const Json& schema, const Json& value, const std::string& place,
               std::vector<std::string>& faults) const {
        static const std::set<std::string> notes{"$schema", "$id", "$defs", "title", "description"};
        for (const auto& [key, rule] : schema.items()) {
            if (notes.contains(key) || key == "additionalProperties") continue;
            if (key == "$ref")
                check(referred(rule), value, place, faults);
            else if (key == "type")
                check_type(rule, value, place, faults);
            else if (key == "enum")
                require(std::find(rule.begin(), rule.end(), value) != rule.end(), place,
                        "none of " + rule.dump(), faults);
            else if (key == "const")
                require(value == rule, place, "not " + rule.dump(), faults);
            else if (key == "minItems")
                require(!value.is_array() || value.size() >= rule, place, "too few items", faults);
            else if (key == "minimum")
                require(!value.is_number() || value >= rule, place, "below " + rule.dump(), faults);
            else if (key == "maximum")
                require(!value.is_number() || value <= rule, place, "above " + rule.dump(), faults);
            else if (key == "required")
                check_required(rule, value, place, faults);
            else if (key == "properties")
                check_members(schema, value, place, faults);
            else if (key == "items")
                check_items(rule, value, place, faults);
            else if (key == "anyOf")
                check_any(rule, value, place, faults);
            else
                throw std::runtime_error("this checker does not know the keyword " + key);
        }
        if (schema.contains("additionalProperties") && !schema.contains("properties"))
            check_members(schema, value, place, faults);
    }

    static void require(bool good, const std::string& place, const std::string& fault,
                        std::vector<std::string>& faults) {
        if (!good) faults.push_back((place.empty() ? "/" : place) + ": " + fault);
    }

    const Json& referred(const std::string& reference) const {
        return root_.at(Json::json_pointer(reference.substr(1)));
    }

    static void check_type(const Json& rule, const Json& value, const std::string& place,
                           std::vector<std::string>& faults) {
        const auto types = rule.is_array() ? rule : Json::array({rule});
        const bool fits =
            std::any_of(types.begin(), types.end(), [&](const Json& type) { return is(value, type); });
        require(fits, place, "is no " + rule.dump() + " but " + value.dump().substr(0, 60), faults);
    }

    static void check_required(const Json& keys, const Json& value, const std::string& place,
                               std::vector<std::string>& faults) {
        if (!value.is_object()) return;
        for (const auto& key : keys) require(value.contains(key), place, "lacks " + key.dump(), faults);
    }

    void check_members(const Json& schema, const Json& value, const std::string& place,
                       std::vector<std::string>& faults) const {
        if (!value.is_object()) return;
        const auto known = schema.value("properties", Json::object());
        const auto other = schema.value("additionalProperties", Json(true));
        for (const auto& [key, member] : value.items()) {
            const auto here = place + "/" + key;
            if (known.contains(key))
                check(known.at(key), member, here, faults);
            else if (other.is_object())
                check(other, member, here, faults);
            else
                require(other.get<bool>(), here, "is not in the schema", faults);
        }
    }

    void check_items(const Json& rule, const Json& value, const std::string& place,
                     std::vector<std::string>& faults) const {
        if (!value.is_array()) return;
        for (std::size_t i = 0; i < value.size(); ++i)
            check(rule, value[i], place + "/" + std::to_string(i), faults);
    }

    void check_any(const Json& rules, const Json& value, const std::string& place,
                   std::vector<std::string>& faults) const {
        for (const auto& rule : rules) {
            std::vector<std::string> own;
            check(rule, value, place, own);
            if (own.empty()) return;
        }
        require(false, place, "fits none of the alternatives", faults);
    }

    Json root_;
};

// What does not fit docs/schema/NAME; equal to `no_faults` if all does.
inline std::vector<std::string> schema_faults(const std::string& name, const nlohmann::json& json) {
    return JsonSchema(source_dir() / "docs/schema" / name).faults(json);
}

inline const std::vector<std::string> no_faults;

}  // namespace switchyard::test
