// Texts at which writing stops.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace switchyard::infer {

class StopTexts {
public:
    StopTexts() = default;
    // None of them is empty.
    explicit StopTexts(std::vector<std::string> texts) : texts_(std::move(texts)) {}

    bool empty() const { return texts_.empty(); }
    // Where the first of them begins in `text` from `begin` on; nullopt: none is there.
    std::optional<std::size_t> find(std::string_view text, std::size_t begin) const;
    // Where that begins which may still become one of them once more text comes: the end of `text` where
    // nothing may.
    std::size_t safe_end(std::string_view text, std::size_t begin) const;

private:
    std::vector<std::string> texts_;
};

}  // namespace switchyard::infer
