#include "core/workbench/data/tokenizers/pipeline/byte_trie.h"

#include <algorithm>
#include <utility>

namespace switchyard::data {

void ByteTrie::put(std::uint64_t key, Node to) {
    auto at = place(key);
    while (slots_[at].key != 0) at = (at + 1) & (slots_.size() - 1);
    slots_[at] = {key, to};
}

void ByteTrie::add(std::string_view text, std::int64_t value) {
    auto node = root;
    if (!text.empty()) first_[static_cast<unsigned char>(text[0])] = true;
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        auto next = step(node, byte);
        if (next == nowhere) {
            if ((used_ + 1) * 2 > slots_.size()) {
                const auto old =
                    std::exchange(slots_, std::vector<Slot>(std::max<std::size_t>(64, slots_.size() * 2)));
                for (const auto& slot : old) {
                    if (slot.key != 0) put(slot.key, slot.to);
                }
            }
            next = static_cast<Node>(values_.size());
            values_.push_back(nothing);
            put((std::uint64_t{node} << 8U | byte) + 1, next);
            ++used_;
        }
        node = next;
    }
    values_[node] = value;
}

}  // namespace switchyard::data
