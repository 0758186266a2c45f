#include "core/workbench/gguf/metadata_reader.h"

#include <cmath>

#include "core/kernel/base/input_error.h"

namespace switchyard::gguf {

const Value* MetadataReader::find(std::string_view key) const {
    const auto found = file_.metadata().find(key);
    return found == file_.metadata().end() ? nullptr : &found->second;
}

void MetadataReader::refuse(std::string_view key, const std::string& expected) const {
    const auto* const value = find(key);
    throw base::InputError(file_.path() + ": " + std::string(key) + ": expected " + expected + ", got " +
                           (value == nullptr ? "nothing" : shown(*value)));
}

template <class Held>
const Held& MetadataReader::held(std::string_view key, const std::string& expected) const {
    const auto* const value = find(key);
    const auto* const held = value == nullptr ? nullptr : std::get_if<Held>(&value->held);
    if (held == nullptr) refuse(key, expected);
    return *held;
}

std::int64_t MetadataReader::whole(std::string_view key) const {
    const std::string expected = "a whole number from 1";
    const auto value = held<std::int64_t>(key, expected);
    if (value < 1) refuse(key, expected);
    return value;
}

std::int64_t MetadataReader::whole(std::string_view key, std::int64_t otherwise) const {
    return has(key) ? whole(key) : otherwise;
}

std::optional<std::int64_t> MetadataReader::number_of_token(std::string_view key) const {
    if (!has(key)) return std::nullopt;
    const std::string expected = "the number of a token";
    const auto value = held<std::int64_t>(key, expected);
    if (value < 0) refuse(key, expected);
    return value;
}

double MetadataReader::number(std::string_view key, double otherwise) const {
    if (!has(key)) return otherwise;
    const auto value = held<double>(key, "a number");
    if (!std::isfinite(value)) refuse(key, "a finite number");
    return value;
}

bool MetadataReader::flag(std::string_view key, bool otherwise) const {
    return has(key) ? held<bool>(key, "true or false") : otherwise;
}

std::string MetadataReader::text(std::string_view key) const {
    return std::string(held<std::string_view>(key, "a text"));
}

std::string MetadataReader::text(std::string_view key, std::string_view otherwise) const {
    return has(key) ? text(key) : std::string(otherwise);
}

template <class Held, class Item>
std::vector<Item> MetadataReader::items(std::string_view key, const std::string& expected) const {
    std::vector<Item> all;
    const auto& list = held<List>(key, expected);
    all.reserve(list.items.size());
    for (const auto& item : list.items) {
        const auto* const value = std::get_if<Held>(&item.held);
        if (value == nullptr) refuse(key, expected);
        all.emplace_back(*value);
    }
    return all;
}

std::vector<std::string> MetadataReader::texts(std::string_view key) const {
    return items<std::string_view, std::string>(key, "a list of texts");
}

std::vector<std::int64_t> MetadataReader::wholes(std::string_view key) const {
    return items<std::int64_t, std::int64_t>(key, "a list of whole numbers");
}

std::vector<double> MetadataReader::numbers(std::string_view key) const {
    return items<double, double>(key, "a list of numbers");
}

}  // namespace switchyard::gguf
