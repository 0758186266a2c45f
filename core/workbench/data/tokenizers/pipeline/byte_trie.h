// Texts that others may begin with, found byte by byte. Nodes are numbers; their edges stand in one table
// (open addressing), so that a step is one look there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace switchyard::data {

class ByteTrie {
public:
    using Node = std::uint32_t;
    static constexpr Node root = 0, nowhere = ~Node{0};
    static constexpr std::int64_t nothing = -1;

    // A text that is there already gets the new value.
    void add(std::string_view text, std::int64_t value);
    bool empty() const { return values_.size() == 1; }

    Node step(Node from, unsigned char byte) const {
        if (slots_.empty()) return nowhere;
        const auto key = (std::uint64_t{from} << 8U | byte) + 1;
        for (auto at = place(key);; at = (at + 1) & (slots_.size() - 1)) {
            if (slots_[at].key == key) return slots_[at].to;
            if (slots_[at].key == 0) return nowhere;
        }
    }
    std::int64_t value(Node node) const { return values_[node]; }
    // Whether any text begins with this byte.
    bool begins(unsigned char byte) const { return first_[byte]; }

private:
    struct Slot {
        std::uint64_t key = 0;  // 0: free
        Node to = 0;
    };
    std::size_t place(std::uint64_t key) const {
        return static_cast<std::size_t>(key * 0x9E3779B97F4A7C15U >> 20U) & (slots_.size() - 1);
    }
    void put(std::uint64_t key, Node to);

    std::vector<Slot> slots_;
    std::size_t used_ = 0;
    std::vector<std::int64_t> values_{nothing};
    std::vector<bool> first_ = std::vector<bool>(256, false);
};

}  // namespace switchyard::data
