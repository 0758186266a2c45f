// Many tokenized texts, end to end: a million short vectors would cost more than their contents.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "core/workbench/data/token_texts.h"

namespace switchyard::data {

class TokenStore final : public TokenTexts {
public:
    void add(const std::vector<std::int64_t>& ids) {
        ids_.insert(ids_.end(), ids.begin(), ids.end());
        ends_.push_back(static_cast<std::int64_t>(ids_.size()));
        longest_ = std::max(longest_, static_cast<std::int64_t>(ids.size()));
    }
    std::int64_t size() const override { return static_cast<std::int64_t>(ends_.size()); }
    std::int64_t end(std::int64_t text) const override { return ends_.at(static_cast<std::size_t>(text)); }
    std::int64_t longest() const override { return longest_; }
    void append(std::int64_t begin, std::int64_t end, std::vector<std::int64_t>& to) const override {
        const auto ids = part(begin, end);
        to.insert(to.end(), ids.begin(), ids.end());
    }
    std::span<const std::int32_t> text(std::int64_t index) const { return part(begin(index), end(index)); }
    // Tokens of all texts in a row, from `begin` to before `end`.
    std::span<const std::int32_t> part(std::int64_t begin, std::int64_t end) const {
        return std::span(ids_).subspan(static_cast<std::size_t>(begin),
                                       static_cast<std::size_t>(end - begin));
    }

private:
    std::vector<std::int32_t> ids_;
    std::vector<std::int64_t> ends_;
    std::int64_t longest_ = 0;
};

}  // namespace switchyard::data
