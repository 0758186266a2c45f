// Tokens and their numbers, both ways, for looking up many.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace switchyard::data {

// Of a few bytes, for tables in memory: the same in one process only.
inline std::uint64_t quick_hash(std::string_view text) {
    constexpr std::uint64_t odd = 0x9E3779B97F4A7C15U;
    std::uint64_t hash = text.size() * odd;
    const auto mix = [&](std::uint64_t bits) {
        hash = (hash ^ bits) * odd;
        hash ^= hash >> 29U;
    };
    while (text.size() >= 8) {
        std::uint64_t bits = 0;
        __builtin_memcpy(&bits, text.data(), 8);
        mix(bits);
        text.remove_prefix(8);
    }
    std::uint64_t rest = 0;
    __builtin_memcpy(&rest, text.data(), text.size());
    mix(rest);
    return hash ^ hash >> 32U;
}

class TokenTable {
public:
    static constexpr std::int64_t none = -1;

    void reserve(std::size_t count);
    // Replaces the number of a token that is there already, and then returns false.
    bool add(std::string_view token, std::int64_t id);
    std::int64_t find(std::string_view token) const;
    // How many tokens there are.
    std::size_t size() const { return entries_.size(); }
    // In the order in which they came.
    std::string_view token_at(std::size_t index) const {
        return std::string_view(text_).substr(entries_[index].begin, entries_[index].size);
    }
    std::int64_t id_at(std::size_t index) const { return entries_[index].id; }

private:
    struct Entry {
        std::size_t begin;
        std::uint32_t size, hash;
        std::int64_t id;
    };
    void grow(std::size_t slots);

    std::string text_;
    std::vector<Entry> entries_;
    std::vector<std::uint32_t> slots_;  // index of an entry and one; 0: free
};

// Tokens by their numbers, some of which may be nobody's.
class TokenNames {
public:
    // False where the number is another token's.
    bool add(std::int64_t id, std::string_view token);
    const std::string* find(std::int64_t id) const;
    // The largest number and one.
    std::int64_t end() const { return static_cast<std::int64_t>(names_.size()); }

private:
    std::vector<std::optional<std::string>> names_;
};

}  // namespace switchyard::data
