#include "core/workbench/data/tokenizers/pipeline/token_table.h"

#include <algorithm>
#include <bit>

namespace switchyard::data {

void TokenTable::reserve(std::size_t count) {
    entries_.reserve(count);
    if (count * 2 > slots_.size()) grow(std::bit_ceil(count * 2));
}

void TokenTable::grow(std::size_t slots) {
    slots_.assign(slots, 0);
    for (std::size_t i = 0; i < entries_.size(); ++i) {
        auto at = entries_[i].hash & (slots - 1);
        while (slots_[at] != 0) at = (at + 1) & (slots - 1);
        slots_[at] = static_cast<std::uint32_t>(i + 1);
    }
}

bool TokenTable::add(std::string_view token, std::int64_t id) {
    if ((entries_.size() + 1) * 2 > slots_.size()) grow(std::max<std::size_t>(16, slots_.size() * 2));
    const auto hash = static_cast<std::uint32_t>(quick_hash(token));
    auto at = hash & (slots_.size() - 1);
    for (; slots_[at] != 0; at = (at + 1) & (slots_.size() - 1)) {
        auto& entry = entries_[slots_[at] - 1];
        if (entry.hash != hash || token_at(slots_[at] - 1) != token) continue;
        entry.id = id;
        return false;
    }
    slots_[at] = static_cast<std::uint32_t>(entries_.size() + 1);
    entries_.push_back({text_.size(), static_cast<std::uint32_t>(token.size()), hash, id});
    text_ += token;
    return true;
}

std::int64_t TokenTable::find(std::string_view token) const {
    if (slots_.empty()) return none;
    const auto hash = static_cast<std::uint32_t>(quick_hash(token));
    for (auto at = hash & (slots_.size() - 1); slots_[at] != 0; at = (at + 1) & (slots_.size() - 1)) {
        const auto& entry = entries_[slots_[at] - 1];
        if (entry.hash == hash && token_at(slots_[at] - 1) == token) return entry.id;
    }
    return none;
}

bool TokenNames::add(std::int64_t id, std::string_view token) {
    const auto at = static_cast<std::size_t>(id);
    if (at >= names_.size()) names_.resize(at + 1);
    if (names_[at]) return false;
    names_[at] = token;
    return true;
}

const std::string* TokenNames::find(std::int64_t id) const {
    if (id < 0 || id >= end()) return nullptr;
    const auto& name = names_[static_cast<std::size_t>(id)];
    return name ? &*name : nullptr;
}

}  // namespace switchyard::data
