// Many tokenized texts, end to end: a million short vectors would cost more than their contents.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace switchyard::data {

class TokenStore {
public:
    void add(const std::vector<std::int64_t>& ids) {
        ids_.insert(ids_.end(), ids.begin(), ids.end());
        ends_.push_back(tokens());
    }
    std::int64_t size() const { return static_cast<std::int64_t>(ends_.size()); }
    std::int64_t tokens() const { return static_cast<std::int64_t>(ids_.size()); }
    std::int64_t begin(std::int64_t text) const { return text == 0 ? 0 : end(text - 1); }
    std::int64_t end(std::int64_t text) const { return ends_.at(static_cast<std::size_t>(text)); }
    std::int64_t length(std::int64_t text) const { return end(text) - begin(text); }
    std::span<const std::int32_t> text(std::int64_t index) const { return part(begin(index), end(index)); }
    // Tokens of all texts in a row, from `begin` to before `end`.
    std::span<const std::int32_t> part(std::int64_t begin, std::int64_t end) const {
        return std::span(ids_).subspan(static_cast<std::size_t>(begin),
                                       static_cast<std::size_t>(end - begin));
    }

private:
    std::vector<std::int32_t> ids_;
    std::vector<std::int64_t> ends_;
};

}  // namespace switchyard::data
