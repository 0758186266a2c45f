// How often each sequence of so many words or characters is in a text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>

namespace switchyard::score {

using Ngrams = std::unordered_map<std::string, std::int64_t>;

// Of `order` neighbours each, joined by the separator, which is in none of them.
Ngrams ngrams_of(std::span<const std::string_view> units, std::size_t order, std::string_view separator);

// All of them, each as often as it is there.
std::int64_t size_of(const Ngrams& ngrams);

// Those that both have, each as often as the one has it that has it less often.
std::int64_t shared_by(const Ngrams& first, const Ngrams& second);

}  // namespace switchyard::score
