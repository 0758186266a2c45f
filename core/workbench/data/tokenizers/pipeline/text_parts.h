// A text on its way through a tokenizer: cut into parts, some of which are rewritten.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace switchyard::data {

// What a normalizer works on. `from_start`: how many of its first bytes came from the first character of the
// whole text; some pre-tokenizers act there only (Metaspace with prepend_scheme "first").
struct NormalizedText {
    std::string text;
    std::size_t from_start = 0;
};

struct TextPart {
    std::string_view text;
    std::size_t from_start = 0;

    TextPart part(std::size_t begin, std::size_t end) const {
        const auto left = from_start > begin ? from_start - begin : 0;
        return {text.substr(begin, end - begin), left < end - begin ? left : end - begin};
    }
};

// Memory for texts that are made on the way; kept from one text to the next.
class TextStore {
public:
    std::string_view keep(std::string_view text) {
        char* const memory = take(text.size());
        if (!text.empty()) std::memcpy(memory, text.data(), text.size());
        return {memory, text.size()};
    }
    char* take(std::size_t size) {
        while (block_ < blocks_.size() && blocks_[block_].size - used_ < size) {
            ++block_;
            used_ = 0;
        }
        if (block_ == blocks_.size()) {
            const auto bytes = size > block_bytes ? size : block_bytes;
            blocks_.push_back({std::make_unique<char[]>(bytes), bytes});
        }
        used_ += size;
        return blocks_[block_].memory.get() + used_ - size;
    }
    // What was kept is gone. Blocks beyond the first few are given back.
    void clear() {
        if (blocks_.size() > 16) blocks_.resize(16);
        block_ = used_ = 0;
    }

private:
    static constexpr std::size_t block_bytes = 64 << 10;
    struct Block {
        std::unique_ptr<char[]> memory;
        std::size_t size = 0;
    };
    std::vector<Block> blocks_;
    std::size_t block_ = 0, used_ = 0;
};

}  // namespace switchyard::data
