// Metadata of one file by name, each value of the type that is asked for, or an error with the key's name.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/workbench/gguf/gguf_file.h"

namespace switchyard::gguf {

// Throws base::InputError: "FILE: error: KEY: expected ..., got ...".
class MetadataReader {
public:
    explicit MetadataReader(const File& file) : file_(file) {}

    bool has(std::string_view key) const { return find(key) != nullptr; }
    std::int64_t whole(std::string_view key) const;  // from 1
    std::int64_t whole(std::string_view key, std::int64_t otherwise) const;
    // A token's number, from 0.
    std::optional<std::int64_t> number_of_token(std::string_view key) const;
    double number(std::string_view key, double otherwise) const;  // finite
    bool flag(std::string_view key, bool otherwise) const;
    std::string text(std::string_view key) const;
    std::string text(std::string_view key, std::string_view otherwise) const;
    std::vector<std::string> texts(std::string_view key) const;
    std::vector<std::int64_t> wholes(std::string_view key) const;
    std::vector<double> numbers(std::string_view key) const;

    [[noreturn]] void refuse(std::string_view key, const std::string& expected) const;

private:
    const Value* find(std::string_view key) const;
    template <class Held>
    const Held& held(std::string_view key, const std::string& expected) const;
    template <class Held, class Item>
    std::vector<Item> items(std::string_view key, const std::string& expected) const;

    const File& file_;
};

}  // namespace switchyard::gguf
