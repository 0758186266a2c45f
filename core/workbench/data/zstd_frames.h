// Whether zstd's data ends where it should (RFC 8878, section 3.1): the decompressor of Boost takes data that
// was cut off for data that has ended.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace switchyard::data {

class ZstdFrames {
public:
    // The next bytes of the packed data.
    void pass(std::string_view bytes);
    // No frame is open: the data may end here.
    bool at_border() const { return part_ == Part::magic && gathered_ == 0 && skip_ == 0; }

private:
    enum class Part : std::uint8_t { magic, header, skippable, block, unknown };

    // A part whose bytes are all there says what follows.
    void finish_part();
    void begin(Part part, std::size_t bytes);

    Part part_ = Part::magic;
    std::array<unsigned char, 4> bytes_{};  // of the part, as far as they are there
    std::size_t needed_ = 4, gathered_ = 0;
    std::uint64_t skip_ = 0;  // bytes before the part that say nothing
    bool checksum_ = false;   // stands behind the frame's last block
};

}  // namespace switchyard::data
