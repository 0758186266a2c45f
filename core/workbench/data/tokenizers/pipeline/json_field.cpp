#include "core/workbench/data/tokenizers/pipeline/json_field.h"

#include <algorithm>
#include <cmath>

#include "core/kernel/base/joined.h"
#include "core/kernel/base/printable.h"
#include "core/workbench/data/tokenizers/pipeline/code_points.h"

namespace switchyard::data {

void JsonField::fail(const std::string& what) const {
    throw FieldError(*file_ + ": error: " + (path_.empty() ? "" : path_ + ": ") + what);
}

void JsonField::expected(const std::string& what) const {
    const auto got =
        is_text() ? "'" + base::quoted(value_->get_ref<const std::string&>()) + "'" : base::kind_of(*value_);
    fail("expected " + what + ", got " + got);
}

JsonField JsonField::below(const std::string& key, const base::Json& value) const {
    return {*file_, value, path_.empty() || key.starts_with("[") ? path_ + key : path_ + "." + key};
}

std::optional<JsonField> JsonField::find(const char* key) const {
    if (!is_object()) expected("an object");
    const auto found = value_->find(key);
    if (found == value_->end() || found->is_null()) return std::nullopt;
    return below(key, *found);
}

JsonField JsonField::at(const char* key) const {
    if (!is_object()) expected("an object");
    const auto found = value_->find(key);
    if (found == value_->end()) below(key, *value_).fail("is missing");
    return below(key, *found);
}

std::vector<JsonField> JsonField::list() const {
    if (!is_list()) expected("a list");
    std::vector<JsonField> fields;
    for (std::size_t i = 0; i < value_->size(); ++i)
        fields.push_back(below("[" + std::to_string(i) + "]", (*value_)[i]));
    return fields;
}

std::vector<std::pair<std::string, JsonField>> JsonField::members() const {
    if (!is_object()) expected("an object");
    std::vector<std::pair<std::string, JsonField>> fields;
    for (const auto& [key, value] : value_->items())
        fields.emplace_back(key, below(base::quoted(key), value));
    return fields;
}

std::string JsonField::text() const {
    if (!is_text()) expected("a text");
    return value_->get<std::string>();
}

std::string JsonField::character() const {
    auto whole = text();
    if (whole.empty() || code_point_at(whole, 0).size != whole.size()) expected("one character");
    return whole;
}

bool JsonField::flag() const {
    if (!value_->is_boolean()) expected("true or false");
    return value_->get<bool>();
}

std::int64_t JsonField::integer(std::int64_t least, std::int64_t most) const {
    const auto number = base::integer_of(*value_);
    if (!number || *number < least || *number > most)
        expected("a whole number from " + std::to_string(least) + " to " + std::to_string(most));
    return *number;
}

double JsonField::number() const {
    if (!value_->is_number() || !std::isfinite(value_->get<double>())) expected("a number");
    return value_->get<double>();
}

std::size_t JsonField::one_of(std::initializer_list<std::string_view> names) const {
    const auto name = text();
    const auto* const found = std::find(names.begin(), names.end(), name);
    if (found == names.end())
        fail("'" + base::quoted(name) + "' is not known; expected one of " + base::joined(names));
    return static_cast<std::size_t>(found - names.begin());
}

void JsonField::only(std::initializer_list<std::string_view> keys) const {
    if (!is_object()) expected("an object");
    for (const auto& [key, value] : value_->items()) {
        if (std::find(keys.begin(), keys.end(), key) == keys.end())
            below(base::quoted(key), value).fail("is not known; expected one of " + base::joined(keys));
    }
}

}  // namespace switchyard::data
