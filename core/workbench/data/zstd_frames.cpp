#include "core/workbench/data/zstd_frames.h"

#include <algorithm>

namespace switchyard::data {

void ZstdFrames::begin(Part part, std::size_t bytes) {
    part_ = part;
    needed_ = bytes;
    gathered_ = 0;
}

void ZstdFrames::pass(std::string_view bytes) {
    while (!bytes.empty() && part_ != Part::unknown) {
        const auto skipped = std::min<std::uint64_t>(skip_, bytes.size());
        skip_ -= skipped;
        bytes.remove_prefix(static_cast<std::size_t>(skipped));
        if (bytes.empty()) return;
        bytes_[gathered_++] = static_cast<unsigned char>(bytes.front());
        bytes.remove_prefix(1);
        if (gathered_ == needed_) finish_part();
    }
}

void ZstdFrames::finish_part() {
    std::uint32_t value = 0;
    for (std::size_t i = 0; i < needed_; ++i) value |= static_cast<std::uint32_t>(bytes_[i]) << (8 * i);
    switch (part_) {
        case Part::magic:
            if (value == 0xFD2FB528U) return begin(Part::header, 1);
            if ((value & 0xFFFFFFF0U) == 0x184D2A50U) return begin(Part::skippable, 4);
            return begin(Part::unknown, 0);  // which the decompressor says itself
        case Part::skippable:
            skip_ = value;
            return begin(Part::magic, 4);
        case Part::header: {
            constexpr std::array<std::uint64_t, 4> dictionary{0, 1, 2, 4}, content{0, 2, 4, 8};
            const bool single = (value & 0x20U) != 0;
            checksum_ = (value & 4U) != 0;
            const auto size_flag = value >> 6U;
            skip_ = (single ? 0 : 1) + dictionary[value & 3U] +
                    (size_flag == 0 && single ? 1 : content[size_flag]);
            return begin(Part::block, 3);
        }
        case Part::block: {
            const bool last = (value & 1U) != 0, repeated = (value >> 1U & 3U) == 1;
            skip_ = repeated ? 1 : value >> 3U;
            if (!last) return begin(Part::block, 3);
            skip_ += checksum_ ? 4 : 0;
            return begin(Part::magic, 4);
        }
        case Part::unknown:
            return;
    }
}

}  // namespace switchyard::data
